"""Attacks in forked workers: the libraries are loaded once, and whatever an attack does to a worker is seen here.

How long an attack takes says nothing on a busy machine. One hangs if its processes have used a minute of processor
time, or if they have not used any for a minute though none of them waits for a processor or a disk.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Attack = Callable[[int], str | None]

_SECONDS = 60  # of processor time that an attack may take, and of rest
_MEMORY = 8 << 30  # bytes of addresses beyond those of the parent
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class _Worker:
    pid: int
    pipe: int
    seed: int  # that it is at
    stop: int
    rest: bytes = b""
    began: float = 0.0  # of processor time
    used: float = 0.0  # of it, when it was last looked at
    looked: float = field(default_factory=time.monotonic)
    moved: float = field(default_factory=time.monotonic)

    def hangs(self) -> bool:
        """Tell whether the attack it is at hangs."""
        now = time.monotonic()
        if now - self.looked < 1:
            return False
        self.looked = now
        used, waits = _processes(self.pid)
        if waits or used != self.used:
            self.used, self.moved = used, now
        return used - self.began > _SECONDS or now - self.moved > _SECONDS

    def next(self, seed: int) -> None:
        """Note that it goes on with another seed."""
        self.seed, self.began, self.moved = seed, self.used, time.monotonic()


def run(
    attack: Attack, first: int, count: int, *, workers: int = 2, seconds: float, batch: int = 100
) -> Iterator[tuple[int, str | None]]:
    """Yield each seed with what went wrong, until the count or the time is reached; no seed is passed over.

    A worker makes a batch of attacks, whatever the time, before another one takes its place.

    ``attack`` returns None if nothing did, and "" for a case that counts but shows nothing (it was refused, say). A
    signal, a hang or an exit of a worker is what went wrong with the seed that it was at.
    """
    end = time.monotonic() + seconds
    following, stop = first, first + count
    running: list[_Worker] = []
    again: list[tuple[int, int]] = []
    while True:
        while len(running) < workers and (again or (following < stop and time.monotonic() < end)):
            begin, finish = again.pop() if again else (following, min(following + batch, stop))
            following = max(following, finish)
            running.append(_start(attack, begin, finish))
        if not running:
            return
        ready, _, _ = select.select([worker.pipe for worker in running], [], [], 1.0)
        for worker in list(running):
            if worker.pipe in ready:
                data = os.read(worker.pipe, 1 << 16)
                worker.rest += data
                *lines, worker.rest = worker.rest.split(b"\n")
                for line in lines:
                    seed, _, text = line.decode("utf-8", "replace").partition("\t")
                    worker.next(int(seed) + 1)
                    yield int(seed), None if text == "-" else text
                if not data:
                    running.remove(worker)
                    os.close(worker.pipe)
                    status = os.waitpid(worker.pid, 0)[1]
                    if status:
                        yield worker.seed, f"the process ended with {_name(status)}"
                        if worker.seed + 1 < worker.stop:
                            again.append((worker.seed + 1, worker.stop))
            elif worker.hangs():
                os.killpg(worker.pid, signal.SIGKILL)


def _processes(group: int) -> tuple[float, bool]:
    """Return the processor time of a group of processes, and whether one of them runs or waits to run or for a disk."""
    used, waits = 0, False
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getpgid(int(name)) == group:
                with open(f"/proc/{name}/stat") as file:  # after the name of the program, which is in brackets
                    fields = file.read().rpartition(")")[2].split()
                used += sum(map(int, fields[11:15]))
                waits |= fields[0] in "RD"
        except OSError:  # it has just ended
            continue
    return used / _TICKS, waits


def _name(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"{signal.Signals(number).name}{' (it hung)' if number == signal.SIGKILL else ''}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _start(attack: Attack, begin: int, stop: int) -> _Worker:
    theirs, ours = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(theirs)
        try:
            os.setpgid(0, 0)
            most = _addresses() + _MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            for seed in range(begin, stop):
                try:
                    wrong = attack(seed)
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}"
                text = "-" if wrong is None else wrong.replace("\n", " ")[:500]
                os.write(ours, f"{seed}\t{text}\n".encode("utf-8", "replace"))
            os._exit(0)
        except BaseException:
            os._exit(99)
    with contextlib.suppress(OSError):  # it did so itself
        os.setpgid(pid, pid)
    os.close(ours)
    return _Worker(pid, theirs, begin, stop)


def _addresses() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
