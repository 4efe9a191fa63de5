"""Counters in the text format of Prometheus."""

from __future__ import annotations

import bisect
from collections import Counter

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class Metrics:
    """What the server has done since it started. Used from the event loop only."""

    def __init__(self) -> None:
        self.queue = 0
        self.in_flight = 0
        self.tokens = 0
        self.texts = 0
        self.reloads = 0
        self.batches = 0
        self.batched = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests[route, status] += 1
        self._durations.setdefault(route, [0] * (len(_BUCKETS) + 1))[bisect.bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter adds floats as well

    def batch(self, jobs: int) -> None:
        """Count one batch of the engine."""
        self.batches += 1
        self.batched += jobs

    def text(self) -> str:
        """Return all of them."""
        lines = [
            *_family("textlds_requests_total", "counter", "Requests answered."),
            *(
                f'textlds_requests_total{{route="{route}",status="{status}"}} {n}'
                for (route, status), n in sorted(self._requests.items())
            ),
            *_family("textlds_request_seconds", "histogram", "From a request's headers to the end of its answer."),
        ]
        for route, counts in sorted(self._durations.items()):
            total = 0
            for edge, n in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
                total += n
                lines.append(f'textlds_request_seconds_bucket{{route="{route}",le="{edge}"}} {total}')
            lines.append(f'textlds_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'textlds_request_seconds_count{{route="{route}"}} {total}')
        for name, kind, about, value in (
            ("textlds_tokens_total", "counter", "Tokens read.", self.tokens),
            ("textlds_texts_total", "counter", "Texts read.", self.texts),
            ("textlds_batches_total", "counter", "Batches run by the engine.", self.batches),
            ("textlds_batched_requests_total", "counter", "Requests in these batches.", self.batched),
            ("textlds_reloads_total", "counter", "Times the model was reloaded.", self.reloads),
            ("textlds_queue_size", "gauge", "Requests that wait for the engine.", self.queue),
            ("textlds_requests_in_flight", "gauge", "Requests not yet answered.", self.in_flight),
        ):
            lines += [*_family(name, kind, about), f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"
