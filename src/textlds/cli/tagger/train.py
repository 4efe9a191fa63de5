"""``textlds tagger train``: a tagger from labelled sentences."""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say
from textlds.cli.tagger import options as own
from textlds.tagging.settings import TaggerSettings


def train_files(
    model: Path,
    sentences: Any,
    dev: Any,
    output: Path,
    *,
    column: str | None,
    gazetteer: list[str],
    counts: Path | None,
    options: dict[str, Any],
    bundle: bool,
    threads: int | None,
    resume: bool,
    force: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Train a tagger and write it.

    Args:
        model: The model folder.
        sentences: Labelled sentences.
        dev: Other ones, to choose settings on, or None.
        output: The folder to write.
        column: Where the tags were in their file.
        gazetteer: Files of names.
        counts: A counts folder, for Brown clusters.
        options: Other arguments of :meth:`Tagger.train`.
        bundle: Whether the folder holds the model too.
        threads: How many; the result is the same.
        resume: Continue interrupted work.
        force: Overwrite the output, and throw away unfinished work.
        quiet: Show no progress.

    Returns:
        The tagger's report.
    """
    from textlds.model.installed import find_model
    from textlds.storage.folders import read_config
    from textlds.storage.work import Work
    from textlds.tagging.files import fill_folder, model_checksum
    from textlds.tagging.gazetteers import read_gazetteers
    from textlds.tagging.tagger import Tagger

    names = read_gazetteers(gazetteer)
    chosen: TaggerSettings = options["settings"]
    settings = {**chosen.to_json(), **{name: str(value) for name, value in options.items() if name != "settings"}}
    inputs = {"train": sentences, "dev": dev, "gazetteer": names}
    if counts is not None:
        inputs["counts"] = read_config(counts, kind="counts", check="sizes")["files"]
    job = {
        "model": model_checksum(find_model(model)), "column": column, "bundle": bundle, **settings,
        **{name: zlib.crc32(repr(content).encode()) for name, content in inputs.items()},
    }  # fmt: skip
    with Work(output, job, resume=resume, force=force) as work:
        if work.finished:
            return Tagger.load(output).report
        tagger = Tagger.train(
            model, sentences, dev=dev, gazetteers=names, counts=counts, threads=threads, progress=not quiet,
            keeper=work.parts, **options,
        )  # fmt: skip
        tagger = dataclasses.replace(tagger, report={**tagger.report, "column": column})
        with work.publishing(Path(output)) as folder:
            fill_folder(tagger, folder, Path(output), bundle=bundle)
    return tagger.report


@opt.with_settings
def command(
    model: opt.Model,
    train: Annotated[str, typer.Option(metavar="FILE", help="Labelled sentences to learn from.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The tagger folder to write.", show_default=False)
    ],
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Other labelled sentences, to choose settings on.",
            show_default="a tenth of the sentences",
        ),
    ] = None,
    column: own.Column = None,
    entities: Annotated[bool, opt.flag("--entities", "The tags mark entities: IOB1, IOB2 or BIOES.")] = False,
    format: own.Format = "auto",
    recipe: Annotated[
        str,
        typer.Option(
            metavar="auto|none|NAME",
            help="Recipe of the vectors, as for textlds embed; auto: by the number of labels; none: words alone, as a "
            "baseline.",
        ),
    ] = "auto",
    gazetteer: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Names, one per line; may be given several times.", show_default=False),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="COUNTS",
            help="The counts that the model was fitted to: clusters of words made of them (Brown) are features too.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        Literal["none", "grid"],
        typer.Option(help="grid: choose recipe, sizes and dropout on the development set; takes 10 times as long."),
    ] = "none",
    bundle: Annotated[bool, opt.flag("--bundle", "Include the model in the folder.")] = False,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    resume: opt.Resume = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    *,
    settings: TaggerSettings,
) -> None:
    """Train a tagger on labelled sentences: any tags of tokens, or entities.

    The network sees the model's vectors and hashed features of words; training takes minutes on one core. Without
    --dev a tenth of the sentences is set aside to choose settings on.
    """
    task: Literal["tags", "entities"] = "entities" if entities else "tags"
    options = {
        "task": task, "recipe": None if recipe == "none" else recipe, "settings": settings, "search": search,
        "seed": seed,
    }  # fmt: skip
    report = train_files(
        model, own.read_labelled(train, format, column), dev and own.read_labelled(dev, format, column), output,
        column=column, gazetteer=gazetteer or [], counts=counts, options=options, bundle=bundle,
        threads=threads, resume=resume, force=force, quiet=quiet,
    )  # fmt: skip
    if as_json:
        print_json({"output": str(output), **report})
    if report["repaired"]:
        say(f"{report['repaired']:,} entity tags continued nothing and were read as beginnings.", quiet=quiet)
    if report["unseen_dev_tags"]:
        say(f"Tags of the development set that training lacks: {', '.join(report['unseen_dev_tags'])}.", quiet=quiet)
    where = f"on {report['dev_is']}" if dev is None else "on the development set"
    measure = "F1" if entities else "of the tags right"
    say(f"Wrote {output}: {report['dev']:.2f} % {measure} {where}.", quiet=quiet)


EXAMPLES = (
    "textlds tagger train model --train train.conllu --dev dev.conllu --output tagger",
    ("textlds tagger train model --train train.conllu --column xpos -o tagger", "another column"),
    ("textlds tagger train model --train eng.train --dev eng.testa --entities -o names", "entities"),
)
