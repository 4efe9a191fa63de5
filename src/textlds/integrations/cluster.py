"""What is asked of a Dask cluster: tasks, progress, trees, and an error instead of waiting for ever."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textlds.errors import ArgumentError, ClusterError, MissingExtraError
from textlds.progress import Progress

PATIENCE = 60.0  # seconds without a single worker after which the work is given up
_POLL = 2.0


def connect(address: str) -> contextlib.AbstractContextManager[Any]:
    """Connect to the scheduler of a Dask cluster."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("working on a cluster", "dask") from error
    try:
        return Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ArgumentError(f"no Dask scheduler answers at {address}: {error}. Check the address.") from error


def refuse_options(given: Mapping[str, bool], remedy: str) -> None:
    """Refuse options of a command that mean nothing on a cluster, instead of leaving them out unseen.

    Args:
        given: Options, and whether each was given.
        remedy: What to do instead, as a sentence.
    """
    names = [name for name, wanted in given.items() if wanted]
    if names:
        have = "has" if len(names) == 1 else "have"
        raise ArgumentError(f"{' and '.join(names)} {have} no effect with --scheduler. {remedy}")


class Cluster:
    """Runs tasks on the workers of a client.

    Args:
        client: A ``distributed.Client``.
        progress: Where to show progress.
        again: What running the same command again does, as a sentence: for errors after which that is the remedy.
        smaller: What makes a task take less memory, as a sentence.
        patience: Seconds without any worker after which the work is given up.
    """

    def __init__(
        self, client: Any, progress: Progress, *, again: str, smaller: str, patience: float | None = None
    ) -> None:
        self._client, self._progress, self._name = client, progress, uuid.uuid4().hex[:8]
        self._again, self._smaller = again, smaller
        self._number, self._patience = 0, PATIENCE if patience is None else patience

    def submit(
        self, stage: str, function: Any, jobs: Sequence[tuple[Any, ...]], *, workers: Sequence[str] | None = None
    ) -> list[Any]:
        """Begin one task per job; futures among the arguments are waited for where the task runs.

        Args:
            stage: Names the tasks.
            function: Called with the arguments of each job.
            jobs: Arguments.
            workers: One worker per job that should do it, if it is still there; others may.
        """
        self._number += 1
        key = f"textlds-{stage}-{self._name}-{self._number}"
        futures = []
        for i, job in enumerate(jobs):
            where = {} if workers is None else {"workers": [workers[i]], "allow_other_workers": True}
            futures.append(self._client.submit(function, *job, key=f"{key}-{i}", pure=False, **where))
        return futures

    def gather(self, name: str, stage: str, function: Any, jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run one small task per job and return the results in order."""
        futures = self.submit(stage, function, jobs)
        self.watch(name, futures)
        return self.results(futures)

    def watch(self, name: str, futures: Sequence[Any], *, unit: str = "pieces") -> None:
        """Show progress until all are done; the first error is raised."""
        with self.task(name, len(futures), unit) as task:
            for future in self._completed(futures):
                if future.status != "finished":
                    self._raise(future)
                task.advance(1)

    def task(self, name: str, total: int, unit: str) -> contextlib.AbstractContextManager[Any]:
        """Show the progress of one stage."""
        return self._progress.task(name.capitalize(), total, unit)

    def result(self, future: Any) -> Any:
        """Wait for one result."""
        return self.results([future])[0]

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for results, in order; the first error is raised."""
        for future in self._completed(futures):
            if future.status != "finished":
                self._raise(future)
        return list(self._client.gather(list(futures)))

    def tree(self, stage: str, function: Any, futures: list[Any], branching: int) -> Any:
        """Reduce futures to one in log(n) rounds; ``function`` takes several values."""
        while len(futures) > 1:
            groups = [tuple(futures[i : i + branching]) for i in range(0, len(futures), branching)]
            futures = self.submit(stage, function, groups)
        return futures[0]

    def workers(self) -> list[str]:
        """Return the addresses of the workers, sorted."""
        return sorted(self._client.scheduler_info(n_workers=-1)["workers"])

    def _completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Yield futures as they are done; raise an error if no worker is left to do them."""
        from distributed import wait

        pending, seen = set(futures), time.monotonic()
        while pending:
            with contextlib.suppress(TimeoutError):
                wait(pending, timeout=_POLL, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
            done = {future for future in pending if future.done()}
            yield from done
            pending -= done
            if done or self.workers():
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience:
                left = "1 task is left" if len(pending) == 1 else f"{len(pending):,} tasks are left"
                raise ClusterError(
                    f"the cluster has had no worker for {self._patience:.0f} seconds, and {left}. Start workers. "
                    f"{self._again}"
                )

    def _raise(self, future: Any) -> None:
        """Raise the error of a task; one that killed its workers is told apart from the task's own."""
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(
                f"a task was given up because the workers that tried it died: {error}. Give workers more memory. "
                f"{self._smaller}"
            ) from error
        if error is None:
            raise ClusterError(f"a task was {future.status}. {self._again}")
        raise error
