"""The server under load: tokens per second, latency, memory, and clients that mean no good.

    python -m benchmarks.serving MODEL TEXT [--seconds 10] [--requests 100000] [--results FOLDER]

rates     1, 8 and 64 clients on the loopback interface, each sending its next request when the last is answered: 32
          sentences per request, answered as Arrow, .npy and JSON; and one sentence of 20 tokens per request
latency   p50 and p99 of one sentence of 20 tokens, JSON
library   the same sentences in this process, with as many threads
peer      a small transformer behind the same server, if it is installed
memory    of the server's process after every tenth of --requests requests
hostile   slow bodies, huge bodies, half-closed and 10,000 idle connections, while another client measures its latency

The clients run in a process of their own and speak HTTP over plain sockets, so that they cost little; on two cores they
still take a good part of what the server could use. Rates are also given per second of the server's processor time,
which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.inference import some_sentences
from benchmarks.serving_page import ARROW, BATCH, CPU, JSON, NPY, WALL, Rate, page

CLIENTS = (1, 8, 64)
IDLE = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--seconds", type=float, default=10, help="per measurement")
    parser.add_argument("--requests", type=int, default=100_000, help="of the memory test")
    parser.add_argument("--threads", type=int, default=1, help="of the engine, in the server and in the library")
    parser.add_argument("--idle", type=int, default=IDLE, help="connections of the hostile client")
    parser.add_argument("--results", type=Path, help="folder for serving.json")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    model = textlds.load(arguments.model)
    sentences = some_sentences(arguments.text, 4096)
    results: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "load": os.getloadavg()[0],
        "threads": arguments.threads,
        "dimensions": model.dimensions(),
    }
    results["library"] = library(model, sentences, arguments.threads)
    with served(arguments.model, "--threads", arguments.threads) as (port, pid):
        results["rates"] = rates(port, pid, model, sentences, arguments.seconds)
        results["latency"] = latencies(port, pid, model, sentences, arguments.seconds)
        results["hostile"] = hostile(port, sentences, arguments.seconds, arguments.idle)
        results["memory"] = memory(port, pid, sentences, arguments.requests)
    results["transformer"] = transformer(arguments.model, sentences, arguments.seconds)
    share = {name: results["rates"][ARROW]["64"][name] / results["library"][name] for name in (WALL, CPU)}
    results["share of the library, Arrow, 64 clients"] = share
    print(f"  of the library's rate, Arrow, 64 clients: {share[WALL]:.0%}, by processor time {share[CPU]:.0%}")
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "serving.json").write_text(json.dumps(results, indent=1) + "\n")
        (arguments.results / "serving.md").write_text(page(results))


def library(model: textlds.TextLDS, sentences: list[str], threads: int, repeats: int = 5) -> Rate:
    """Return tokens per second in this process, of the best of some runs."""
    tokens = sum(len(model.encoder.encode(text).tokens) for text in sentences)
    spans: list[tuple[float, float]] = []
    for _ in range(repeats + 1):  # the first compiles
        began, processor = time.perf_counter(), time.process_time()
        for text in model.embed(sentences, threads=threads):
            assert len(text.vectors) == len(text.tokens)
        spans.append((time.perf_counter() - began, time.process_time() - processor))
    rate = {name: tokens / min(span[k] for span in spans[1:]) for k, name in enumerate((WALL, CPU))}
    print(f"  library: {rate[WALL]:,.0f} tokens/s, {rate[CPU]:,.0f} per CPU second")
    return rate


@contextmanager
def served(model: Path, *options: object) -> Iterator[tuple[int, int]]:
    """Run a server; yields its port and process."""
    command = [sys.executable, "-m", "textlds", "serve", str(model), "--port", "0", "--json", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["address"].rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(60)


def request(path: str, body: Any, accept: str = JSON) -> bytes:
    """Return a request as bytes."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> tuple[int, bytes]:
    """Send a request on an open connection; return the status and the body."""
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length)


async def load_async(port: int, clients: int, requests: list[bytes], seconds: float) -> tuple[list[float], float]:
    """Let clients ask in turns for some seconds; return the durations of their requests, and how long it took."""
    durations: list[float] = []
    stop = time.perf_counter() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        turn = number
        while time.perf_counter() < stop:
            began = time.perf_counter()
            status, _ = await ask(reader, writer, requests[turn % len(requests)])
            assert status == 200, status
            durations.append(time.perf_counter() - began)
            turn += clients
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return durations, time.perf_counter() - began


def _load(arguments: tuple[int, int, list[bytes], float]) -> tuple[list[float], float]:
    return asyncio.run(load_async(*arguments))


def load(port: int, clients: int, requests: list[bytes], seconds: float) -> tuple[list[float], float]:
    """The same in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_load, ((port, clients, requests, seconds),))


def batches(sentences: list[str]) -> list[list[str]]:
    return [sentences[begin : begin + BATCH] for begin in range(0, len(sentences), BATCH)]


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(port: int, pid: int, clients: int, requests: list[bytes], tokens: float, seconds: float) -> Any:
    """Return the durations of requests, and tokens per second of the clock and of the server's processor time."""
    before = processor_seconds(pid)
    durations, took = load(port, clients, requests, seconds)
    used = processor_seconds(pid) - before
    total = tokens * len(durations)
    return durations, {WALL: total / took, CPU: total / max(used, 0.01)}


def rates(port: int, pid: int, model: textlds.TextLDS, sentences: list[str], seconds: float) -> dict[str, Any]:
    """Return tokens per second by kind of answer and number of clients."""
    groups = batches(sentences)
    tokens = mean_tokens(model, groups)
    found: dict[str, dict[str, Rate]] = {}
    for accept in (ARROW, NPY, JSON):
        requests = [request("/embed_all", {"inputs": group}, accept) for group in groups]
        load(port, 4, requests, 1)
        for clients in CLIENTS:
            _, rate = measured(port, pid, clients, requests, tokens, seconds)
            found.setdefault(accept, {})[str(clients)] = rate
            print(f"  {accept}, {clients} clients: {rate[WALL]:,.0f} tokens/s, {rate[CPU]:,.0f} per CPU second")
    return found


def mean_tokens(model: textlds.TextLDS, groups: list[list[str]]) -> float:
    """Return how many tokens a request has on average."""
    return float(np.mean([sum(len(model.encoder.encode(text).tokens) for text in group) for group in groups]))


def latencies(port: int, pid: int, model: textlds.TextLDS, sentences: list[str], seconds: float) -> dict[str, Any]:
    """Return p50 and p99 in milliseconds, and tokens per second, of single sentences of 20 tokens."""
    words = [word for text in sentences for word in text.split()]
    texts = [" ".join(words[begin : begin + 20]) for begin in range(0, 4000, 20)]
    texts = [" ".join(list(model.encoder.encode(text).tokens)[:20]) for text in texts]
    requests = [request("/embed_all", {"inputs": text}) for text in texts]
    load(port, 1, requests, 1)
    found = {}
    for clients in CLIENTS:
        durations, rate = measured(port, pid, clients, requests, 20, seconds)
        p50, p99 = (1000 * float(q) for q in np.quantile(durations, [0.5, 0.99]))
        own = 20_000 / rate[CPU]
        found[str(clients)] = {"p50": p50, "p99": p99, "processor ms": own, **rate}
        print(f"  one sentence, {clients} clients: p50 {p50:.2f} ms, p99 {p99:.2f} ms, processor {own:.2f} ms")
    return found


async def attacked(port: int, sentences: list[str], seconds: float, idle: int) -> dict[str, Any]:
    """Measure one client while others misbehave."""
    polite = [request("/embed_all", {"inputs": text}) for text in sentences[:200]]
    before, _ = await load_async(port, 1, polite, seconds / 2)
    opened: list[asyncio.StreamWriter] = []
    stop = False

    async def connected(sent: bytes, *, half: bool = False) -> None:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            if half:
                writer.write_eof()
            opened.append(writer)

    async def slow() -> None:
        head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            while not stop and not writer.is_closing():
                writer.write(b" ")
                await asyncio.sleep(0.2)
            writer.close()

    async def huge() -> None:
        head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        while not stop:
            with suppress(OSError, asyncio.IncompleteReadError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head)
                for _ in range(64):
                    writer.write(chunk)
                    await writer.drain()
                writer.close()
            await asyncio.sleep(0.1)

    for begin in range(0, idle, 500):
        await asyncio.gather(*(connected(b"") for _ in range(min(500, idle - begin))))
    await asyncio.gather(*(connected(polite[0], half=True) for _ in range(50)))
    tasks = [asyncio.create_task(job()) for job in (*[slow] * 50, huge, huge)]
    during, _ = await load_async(port, 1, polite, seconds)
    stop = True
    await asyncio.gather(*tasks, return_exceptions=True)
    for writer in opened:
        writer.close()
    after, _ = await load_async(port, 1, polite, seconds / 2)
    names = ("before", "during", "after")
    spans = {
        name: [1000 * float(q) for q in np.quantile(found, [0.5, 0.99])]
        for name, found in zip(names, (before, during, after), strict=True)
    }
    return {"connections": len(opened), "p50 and p99, ms": spans, "answered during": len(during)}


def _attacked(arguments: tuple[int, list[str], float, int]) -> dict[str, Any]:
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return asyncio.run(attacked(*arguments))


def hostile(port: int, sentences: list[str], seconds: float, idle: int) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(_attacked, ((port, sentences, seconds, idle),))
    print(f"  hostile: {found}")
    return found


def memory(port: int, pid: int, sentences: list[str], requests: int) -> list[dict[str, float]]:
    """Return the server's memory in megabytes as requests go by."""
    some = [request("/embed", {"inputs": text}) for text in sentences[:1000]]
    found: list[dict[str, float]] = []
    done = 0
    while done < requests:
        done += _many(port, some, max(1, requests // 10))
        found.append({"requests": done, "megabytes": resident(pid)})
        print(f"  after {done:,} requests: {found[-1]['megabytes']:.1f} MB")
    return found


def _many(port: int, requests: list[bytes], n: int) -> int:
    async def run() -> None:
        async def client(number: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for turn in range(number, n, 8):
                status, _ = await ask(reader, writer, requests[turn % len(requests)])
                assert status == 200, status
            writer.close()

        await asyncio.gather(*(client(number) for number in range(8)))

    asyncio.run(run())
    return n


def resident(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def transformer(model: Path, sentences: list[str], seconds: float) -> dict[str, Rate] | None:
    """Return tokens per second of a small transformer behind the same server, by number of clients."""
    try:
        from benchmarks.peers import Transformer

        Transformer()
    except ImportError as error:
        print(f"  transformer: {error}")
        return None
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    process = context.Process(target=_serve_transformer, args=(model, ready), daemon=True)
    process.start()
    port = ready.get(timeout=120)
    groups = batches(sentences[:512])
    tokens = mean_tokens(textlds.load(model), groups)
    requests = [request("/embed_all", {"inputs": group}, ARROW) for group in groups]
    found = {}
    try:
        assert process.pid is not None
        for clients in CLIENTS[:2]:
            _, rate = measured(port, process.pid, clients, requests, tokens, seconds)
            found[str(clients)] = rate
            print(
                f"  transformer, {clients} clients: {rate[WALL]:,.0f} tokens/s, {rate[CPU]:,.0f} per processor second"
            )
    finally:
        process.terminate()
        process.join()
    return found


def _serve_transformer(model: Path, ready: Any) -> None:
    from benchmarks.peers import Transformer
    from textlds.serve.app import App
    from textlds.serve.requests import Limits
    from textlds.serve.server import Server, bound_socket
    from textlds.serve.service import Service

    network = Transformer()

    class Peer(Service):
        def vectors(self, texts: Any) -> Any:
            tokens = [list(text.tokens) for text in self.model.encoder.encode_many(texts)]
            return np.split(network.vectors(tokens), np.cumsum([len(some) for some in tokens])[:-1])

    service = Peer(textlds.load(model), "transformer")
    bound = bound_socket("127.0.0.1", 0)
    bound.listen(100)
    ready.put(bound.getsockname()[1])
    Server(App(service, limits=Limits(seconds=300)), lambda: service).run(sockets=[bound])


if __name__ == "__main__":
    main()
