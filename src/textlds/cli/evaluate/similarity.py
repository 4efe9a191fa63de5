"""``textlds evaluate similarity``: do the vectors find alike what people find alike?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table

if TYPE_CHECKING:
    from textlds.evaluation.similarity import SimilarityRow
    from textlds.model.textlds import TextLDS


def compare_files(model: TextLDS, files: list[str], *, recipe: str) -> list[SimilarityRow]:
    """Return the rank correlations of the sets in some files; of words in contexts, alone and in them."""
    from textlds.evaluation.data import is_scws, read_pairs, read_scws
    from textlds.evaluation.features import model_features
    from textlds.evaluation.similarity import SimilarityRow, evaluate_context_pairs, evaluate_pairs
    from textlds.vectors.recipes import MEANING_PARTS, Recipe

    chosen = model.recipe(recipe)
    about = bool(set(MEANING_PARTS) & set(chosen.parts))
    words = model_features(model, recipe=Recipe("word_meaning" if about else "word", chosen.weighting))
    tokens = model_features(model, recipe=recipe)
    rows = []
    for file in files:
        name = Path(file).name
        if is_scws(file):
            pairs = read_scws(file)
            rows.append(SimilarityRow(name, "word", evaluate_context_pairs(words, pairs)))
            rows.append(SimilarityRow(name, f"{recipe}, in context", evaluate_context_pairs(tokens, pairs)))
        else:
            rows.append(SimilarityRow(name, "word", evaluate_pairs(words, read_pairs(file), model.vocabulary)))
    return rows


def command(
    model: opt.Model,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Lines of word, word, score; or a file in SCWS format.", show_default=False
        ),
    ],
    recipe: opt.Recipe = "meaning",
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Compare cosines of words with people's judgements: Spearman's rank correlation.

    Pairs of words are compared by meaning, or by the part "word" if the recipe has no meaning; pairs in context (SCWS)
    also by --recipe. Pairs with an unknown word are left out, except in context.
    """
    from textlds.api import load

    rows = compare_files(load(model), files, recipe=recipe)
    if as_json:
        print_json([row.to_json() for row in rows])
        return
    cells = [
        [
            row.name,
            row.vectors,
            f"{row.correlation.rho:.3f}",
            f"{row.correlation.found:,}",
            f"{row.correlation.pairs:,}",
        ]
        for row in rows
    ]
    print_table(["set", "vectors", "rho", "found", "pairs"], cells, right=range(2, 5))


EXAMPLES = (
    "textlds evaluate similarity model SimLex-999.txt wordsim353.txt",
    ("textlds evaluate similarity model scws.ratings.txt", "words in their contexts"),
    ("textlds evaluate similarity model pairs.txt --recipe context", "by how words are used"),
)
