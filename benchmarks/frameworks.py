"""One embedder in every framework that maps a function over batches: Dask, Ray Data, Hugging Face datasets, Spark.

    python -m benchmarks.frameworks MODEL TEXT [--tokens 1e6] [--processes 2] [--only NAME ...] [--results FOLDER]

Each gets the same paragraphs and the same `textlds.Embedder`, and runs it in so many processes of one thread. What it
returns is compared with what the library returns in this process, number by number. The rate is of a second pass, when
every process has the model and compiled code; it is that of the clock, and includes what a framework does to move text
and vectors about. A framework that is not installed is left out. Spark needs Java.

Writes frameworks.json and frameworks.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import textlds
from benchmarks.texts import first_lines, markdown_table

BATCH = 512  # texts
PACKAGES = {"Dask": "dask", "Ray Data": "ray", "Hugging Face datasets": "datasets", "Spark": "pyspark"}
Run = Callable[[], Any]  # returns the vectors of all texts, in their order


@contextmanager
def dask(texts: list[str], embed: textlds.Embedder, processes: int) -> Iterator[Run]:
    import pandas
    from dask import dataframe
    from distributed import Client, LocalCluster

    parts = max(processes, len(texts) // BATCH)
    runs = itertools.count()

    def run() -> Any:
        frame = pandas.DataFrame({"text": texts, "run": next(runs)})  # what was computed before is not taken again
        lazy = dataframe.from_pandas(frame, npartitions=parts)
        mapped = lazy.map_partitions(embed, meta=lazy._meta.assign(vector=pandas.Series(dtype=object)))
        return mapped["vector"].compute().to_list()

    with LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        yield run


@contextmanager
def ray_data(texts: list[str], embed: textlds.Embedder, processes: int) -> Iterator[Run]:
    import ray

    # workers import textlds from where this process has it
    ray.init(
        num_cpus=processes, include_dashboard=False, log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}},
    )  # fmt: skip
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        ray.data.DataContext.get_current().execution_options.preserve_order = True
        dataset = ray.data.from_items([{"text": text} for text in texts], override_num_blocks=processes)
        yield lambda: [row["vector"] for row in dataset.map_batches(embed, batch_size=BATCH).take_all()]
    finally:
        ray.shutdown()


@contextmanager
def hugging_face(texts: list[str], embed: textlds.Embedder, processes: int) -> Iterator[Run]:
    import datasets

    datasets.disable_progress_bars()
    dataset = datasets.Dataset.from_dict({"text": texts})

    def run() -> Any:
        mapped = dataset.map(embed, batched=True, batch_size=BATCH, num_proc=processes, load_from_cache_file=False)
        return mapped.with_format("numpy")["vector"][:]

    yield run


@contextmanager
def spark(texts: list[str], embed: textlds.Embedder, processes: int) -> Iterator[Run]:
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, pandas_udf

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    builder = SparkSession.builder.master(f"local[{processes}]").appName("textlds")
    for name, value in {
        "spark.ui.enabled": "false", "spark.driver.memory": "4g", "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "0", "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        frame = session.createDataFrame([(text,) for text in texts], ["text"]).repartitionByRange(processes, "text")
        function = pandas_udf(vectors_of(embed), "array<float>")
        order = {text: number for number, text in enumerate(texts)}

        def run() -> Any:
            rows = frame.select("text", function(col("text")).alias("vector")).toPandas()
            vectors: list[Any] = [None] * len(texts)
            for text, vector in zip(rows["text"], rows["vector"], strict=True):
                vectors[order[text]] = vector
            return vectors

        yield run
    finally:
        session.stop()


def vectors_of(embed: textlds.Embedder) -> Callable[[Any], Any]:
    """Return an embedder as a function from a Series to a Series, whose types Spark reads."""
    import pandas

    def vectors(texts: Any) -> Any:
        return embed(texts)

    vectors.__annotations__ = {"texts": pandas.Series, "return": pandas.Series}
    return vectors


FRAMEWORKS = {"Dask": dask, "Ray Data": ray_data, "Hugging Face datasets": hugging_face, "Spark": spark}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--tokens", type=float, default=1e6)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=list(FRAMEWORKS), choices=list(FRAMEWORKS))
    parser.add_argument("--results", type=Path, help="folder for the figures; rows that are there are kept")
    arguments = parser.parse_args()
    embed = textlds.Embedder(arguments.model.absolute(), recipe="context", pooling="mean")
    texts = list(dict.fromkeys(line for line in first_lines(arguments.text, arguments.tokens) if line.strip()))
    tokens = sum(len(text) for text in textlds.load(arguments.model).embed(texts))
    rate, expected = timed(lambda: embed(texts), tokens)
    stored = arguments.results / "frameworks.json" if arguments.results else None
    rows: dict[str, Any] = json.loads(stored.read_text())["rows"] if stored and stored.exists() else {}
    rows["the library, one process"] = {"version": textlds.__version__, "tokens per second": rate, "difference": 0.0}
    for name in arguments.only:
        try:
            with FRAMEWORKS[name](texts, embed, arguments.processes) as run:
                rate, found = timed(run, tokens)
        except ImportError as error:
            print(f"{name}: not installed ({error})")
            continue
        difference = float(np.abs(np.stack(list(found)) - expected).max())
        version = importlib.metadata.version(PACKAGES[name])
        rows[name] = {"version": version, "tokens per second": rate, "difference": difference}
        print(name, rows[name], flush=True)
    results = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}", "load": os.getloadavg()[0], "tokens": tokens,
        "texts": len(texts), "processes": arguments.processes, "rows": rows,
    }  # fmt: skip
    print("\n".join(page(results)))
    if stored:
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(results, indent=1) + "\n")
        stored.with_suffix(".md").write_text("\n".join(page(results)), encoding="utf-8")


def timed(run: Run, tokens: int) -> tuple[float, Any]:
    """Return tokens per second of a second run, and what it returned."""
    run()
    began = time.perf_counter()
    found = run()
    return tokens / (time.perf_counter() - began), found


def page(results: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
    rows = [
        [name, row["version"], f"{row['tokens per second']:,.0f}", f"{row['difference']:.1g}"]
        for name, row in results["rows"].items()
    ]
    return [
        "# One embedder in every framework", "",
        f"By `python -m benchmarks.frameworks`: {results['tokens']:,} tokens of {results['texts']:,} paragraphs, one "
        f"vector per paragraph, {results['processes']} processes of one thread on {results['machine']}, load "
        f"{results['load']:.1f}. Rates are of "
        "the clock and of a second pass; they include moving text and vectors between processes. The difference is "
        "the largest between any number and that of the library.", "",
        *markdown_table(["framework", "version", "tokens/s", "difference"], rows),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
