"""The tables and figures of the paper, on data at hand, and one report.

    python -m benchmarks.paper --data FOLDER [--only dynamics,pos,ner,likelihood,ablations,similarity]

Reads unlabelled text and labelled corpora from wherever they are. Writes RESULTS/paper/STUDY.json (figures, settings,
seeds, versions, checksums), the pictures, and the report made from them: RESULTS/paper.md, and RESULTS/paper/paper.html
with the pictures inside. Counts, models and vectors are kept in the work folder, finished cells in the results: a run
that was stopped goes on where it was. A study whose data is not given is left out.

--data is a folder with wikipedia/, reuters21578/, ud-english-ewt/, ptb-sample/, conll2003/, similarity/ in it; any of
them can be given by its own option instead, such as the whole Penn Treebank by --ptb.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.paper.data import Data, under
from benchmarks.paper.job import Job, run_study
from benchmarks.paper.report import write_report
from benchmarks.paper.settings import SCALES, Scale
from benchmarks.paper.work import Workspace
from textlds.errors import ArgumentError
from textlds.progress import RichProgress, SilentProgress

STUDIES = ("dynamics", "pos", "ner", "likelihood", "ablations", "similarity")
ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run the studies and write the report; the number of studies that were left out for want of data."""
    options = parser().parse_args(arguments)
    data = Data(**{**under(options.data), **{name: path for name in Data.names() if (path := getattr(options, name))}})
    progress = SilentProgress() if options.quiet else RichProgress()
    work = Workspace(options.work, threads=options.threads, progress=progress)
    job = Job(data, work, scale(options), options.seeds, options.threads)
    results = options.results or (ROOT / "docs" / "results" if options.scale == "full" else options.work / "results")
    left_out = []
    for name in () if options.report else options.only:
        study = importlib.import_module(f"benchmarks.paper.{name}")
        missing = [need for need in study.NEEDS if getattr(data, need) is None]
        if missing:
            left_out.append(name)
            print(f"{name}: left out, it needs {' and '.join(f'--{need}' for need in missing)}", file=sys.stderr)
            continue
        run_study(name, study, job, results, again=options.again)
    print(*write_report(results), sep=", ")
    return len(left_out)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        "python -m benchmarks.paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data", type=Path, default=Path("data"), help="folder of all data sets")
    for name, what in (
        ("text", "unlabelled text, one paragraph per line"),
        ("reuters", "more of it for the named entities"),
        ("ewt", "folder of a treebank in CoNLL-U"),
        ("ptb", "folder of a treebank as word<TAB>tag, with a *.map to universal tags"),
        ("conll", "folder of CoNLL-2003"),
        ("similarity", "folder of word similarity sets"),
    ):
        made.add_argument(f"--{name}", type=Path, metavar="PATH", help=what)
    made.add_argument("--only", type=_studies, default=STUDIES, help=f"studies, by commas: {','.join(STUDIES)}")
    made.add_argument("--report", action="store_true", help="make only the report, of what is there")
    made.add_argument("--again", action="store_true", help="compute also what is there already")
    made.add_argument("--scale", choices=sorted(SCALES), default="full")
    made.add_argument("--tokens", type=float, help="of unlabelled text for the main studies; all of it by default")
    made.add_argument("--base-tokens", type=float, help="of unlabelled text for ablations and likelihood")
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--threads", type=int, default=1)
    made.add_argument(
        "--work", type=Path, default=ROOT / "scratch" / "paper", help="folder for counts, models and vectors"
    )
    made.add_argument("--results", type=Path, help="docs/results by default (for --scale tiny, WORK/results)")
    made.add_argument("--quiet", action="store_true", help="no bars")
    return made


def scale(options: argparse.Namespace) -> Scale:
    """Return the scale with the numbers of tokens that were asked for."""
    chosen = SCALES[options.scale]
    if options.tokens:
        chosen = replace(chosen, tokens=options.tokens)
    if options.base_tokens:
        chosen = replace(chosen, base_tokens=options.base_tokens)
    return chosen


def _studies(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in STUDIES:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(STUDIES)}")
    return names


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ArgumentError as error:
        sys.exit(f"error: {error}")
