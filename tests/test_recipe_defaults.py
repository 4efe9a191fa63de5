"""One default everywhere: signatures, commands, integrations and pages agree about the recipe that is used."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from textlds import TextLDS
from textlds.cli import build_app
from textlds.corpus.settings import CountSettings, TextSettings
from textlds.evaluation.features import model_features
from textlds.learn.settings import FitSettings
from textlds.vectors.recipes import METHODS, PARTS, RECIPES, WEIGHTINGS, resolve_recipe

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXPLANATION = ROOT / "docs" / "explanation.md"

# What feeds a classifier has "features", what compares words and senses "meaning", everything else "context".
COMMANDS = {
    "embed": "context",
    "similar": None,  # that of its kind
    "index": "meaning",
    "evaluate tagging": "features",
    "evaluate ner": "features",
    "evaluate similarity": "meaning",
    "tagger train": "auto",  # by the number of labels
}


def default(function: Any) -> Any:
    return inspect.signature(function).parameters["recipe"].default


def commands() -> dict[str, Any]:
    """Return all commands by name, those of groups too."""
    found = {}
    app: Any = typer.main.get_command(build_app())
    for name in app.list_commands(None):
        command = app.get_command(None, name)
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        found |= {f"{name} {other}": command.get_command(None, other) for other in inner} or {name: command}
    return found


def test_methods_of_a_model() -> None:
    for function in (
        TextLDS.__call__, TextLDS.embed, TextLDS.encode, TextLDS.stream, TextLDS.dimensions,
    ):  # fmt: skip
        assert default(function) == "context", function
    assert default(model_features) == "features"


def test_every_command_has_the_default_of_its_kind() -> None:
    found = {}
    for name, command in commands().items():
        options = {parameter.name: parameter for parameter in command.params}
        assert not {"parts", "evidence", "method", "weighting"} & set(options), name
        if "recipe" in options:
            found[name] = options["recipe"].default
            assert name in ("similar", "tagger train") or all(recipe in options["recipe"].help for recipe in RECIPES), (
                name
            )
    assert found == COMMANDS


def test_scikit_learn() -> None:
    sklearn = pytest.importorskip("textlds.integrations.sklearn")
    assert default(sklearn.TextLDSVectorizer) == "word_meaning"
    assert default(sklearn.TokenEmbedder) == "features"


def test_spacy() -> None:
    pytest.importorskip("spacy")
    from textlds.integrations import spacy

    assert default(spacy.TextLDSComponent) == "context"
    assert spacy.Language.get_factory_meta("textlds").default_config["recipe"] == "context"
    assert default(spacy.tok2vec) == "features"


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    from model.worlds import random_model
    from textlds.integrations.frames import add_vectors

    model, frame = random_model(0), pd.DataFrame({"text": ["aaa aab"]})
    (tokens,) = add_vectors(frame, model, pooling="none")["vectors"]
    assert [row.tolist() for row in tokens] == model("aaa aab", recipe="features").vectors.tolist()
    (mean,) = add_vectors(frame, model)["vector"]
    assert mean.tolist() == model.encode(["aaa aab"], recipe="context")[0].tolist()


def test_the_index() -> None:
    from textlds.search.index import OccurrenceIndex

    assert default(OccurrenceIndex.build) == "meaning"


def test_the_table_of_recipes() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| `(\w+)` \| `(\w+)` \| .+ \|$", EXPLANATION.read_text(), re.MULTILINE)
    found = {name: (tuple(re.findall(r"`(\w+)`", parts)), *rest) for name, parts, *rest in rows}
    assert found == {name: (recipe.parts, recipe.weighting, recipe.method) for name, recipe in RECIPES.items()}


def test_the_table_of_settings() -> None:
    """The page that explains the library names the defaults of the settings, and so does --help, which derives them."""
    known = {
        name: field.default
        for kind in (TextSettings, CountSettings, FitSettings)
        for name, field in kind.options().items()
    }
    _, _, table = EXPLANATION.read_text(encoding="utf-8").partition("## Settings worth changing")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", table, re.MULTILINE)
    assert len(rows) > 5
    for name, shown in rows:
        value = shown.partition(":")[0].strip('`"').replace(",", "")
        assert value == str(known[name]), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_recipes_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\b(parts|evidence)=|--(parts|evidence|method)\b", text)
    own = {name for call in re.findall(r"with_recipes\((.*?)\)", text) for name in re.findall(r"(\w+)=", call)}
    quoted = re.findall(r"""\brecipe\s?=\s?["']([^"']+)["']""", text)
    for recipe in [*quoted, *re.findall(r"--recipe (?:'([^']+)'|([\w+]+))", text)]:
        spelled = "".join(recipe)
        if spelled not in own | {"none", "auto"}:  # the last two are those of a tagger
            resolve_recipe(spelled)


def test_pages_do_not_contradict_the_defaults() -> None:
    """What a page says is the default is the default: "by default" and tables of options."""
    spacy = (ROOT / "docs" / "how-to-spacy.md").read_text(encoding="utf-8")
    assert re.search(r'^\| `recipe` \| `"context"` \|', spacy, re.MULTILINE)
    claims = {
        "how-to-spacy.md": r'`recipe` is\s+`"features"` by default',
        "how-to-scikit-learn.md": r'default, `recipe="features"`',
        "how-to-data-frames.md": r'`"context"` for one\s+vector per text, and `"features"` for one per token',
    }
    for name, claim in claims.items():
        assert re.search(claim, (ROOT / "docs" / name).read_text(encoding="utf-8")), name
    assert re.search(r'`recipe="context"`, the default', (ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_words_of_recipes_are_all_different() -> None:
    words = [*RECIPES, *PARTS, *WEIGHTINGS, *METHODS]
    assert len(words) == len(set(words))
