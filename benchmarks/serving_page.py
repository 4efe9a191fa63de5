"""The page of benchmarks.serving."""

from __future__ import annotations

from typing import Any

ARROW, NPY, JSON = "application/vnd.apache.arrow.stream", "application/x-npy", "application/json"
WALL, CPU = "tokens/s", "tokens per processor second"
BATCH = 32  # sentences per request
Rate = dict[str, float]


def page(results: dict[str, Any]) -> str:
    """Return the results as a page."""
    names = {ARROW: "Arrow", NPY: ".npy", JSON: "JSON"}
    rows = [("library, in process", "", results["library"])]
    rows += [(names[kind], n, rate) for kind, found in results["rates"].items() for n, rate in found.items()]
    rows += [("transformer, Arrow", n, rate) for n, rate in (results["transformer"] or {}).items()]
    table = "\n".join(f"| {name} | {n} | {rate[WALL]:,.0f} | {rate[CPU]:,.0f} |" for name, n, rate in rows)
    waits = "\n".join(
        f"| {n} | {found['p50']:.2f} | {found['p99']:.2f} | {found['processor ms']:.2f} |"
        for n, found in results["latency"].items()
    )
    hostile = results["hostile"]
    attack = "\n".join(f"| {name} | {p50:.2f} | {p99:.2f} |" for name, (p50, p99) in hostile["p50 and p99, ms"].items())
    memory = results["memory"]
    share = results["share of the library, Arrow, 64 clients"]
    return f"""# The server under load

`python -m benchmarks.serving MODEL TEXT`: {results["machine"]}, load {results["load"]:.1f} at the start, engine with
{results["threads"]} thread, vectors of {results["dimensions"]} numbers. The clients run on the same machine. Where
other work runs beside it, rates per second of the server's own processor time say more than those of the clock.

## Tokens per second

{BATCH} sentences per request, a vector for every token.

| answer | clients | {WALL} | {CPU} |
|---|---|---|---|
{table}

With Arrow and 64 clients the server gives {share[WALL]:.0%} of the library's rate by the clock, and {share[CPU]:.0%} by
processor time.

## One sentence of 20 tokens, JSON

| clients | p50, ms | p99, ms | processor time of the server, ms |
|---|---|---|---|
{waits}

## Clients that misbehave

{hostile["connections"]:,} open connections, 50 clients that send their body byte by byte, two that send endless bodies.
A polite client, one sentence at a time, waits:

| | p50, ms | p99, ms |
|---|---|---|
{attack}

## Memory

{memory[0]["megabytes"]:.1f} MB after {memory[0]["requests"]:,} requests, {memory[-1]["megabytes"]:.1f} MB after
{memory[-1]["requests"]:,}.
"""
