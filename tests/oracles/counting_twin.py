"""Slow, obviously right twins of the kernels in textlds.counts.kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

BOUNDARY, END, STOP = -1, -2, -1


def rows_twin(ids: Iterable[int], rows_of: Sequence[int], boundary_row: int) -> list[int]:
    """Provisional ids of a whole corpus to rows and STOPs (twin of to_rows)."""
    rows: list[int] = []
    for source in _split(ids, lambda word: word == END):
        parts = [part for part in _split(source, lambda word: word == BOUNDARY) if part]
        if not parts:
            continue
        for part in parts:
            rows += [rows_of[word] for word in part]
            rows.append(boundary_row if boundary_row >= 0 else STOP)
        if boundary_row >= 0:
            rows.append(STOP)
    return rows


def pairs_twin(rows: Sequence[int], max_lag: int) -> list[Counter[tuple[int, int]]]:
    """For each lag, how often (later, earlier) occur at that distance without a STOP between (twin of count_rows)."""
    counts: list[Counter[tuple[int, int]]] = [Counter() for _ in range(max_lag)]
    for later in range(len(rows)):
        for lag in range(1, max_lag + 1):
            earlier = later - lag
            if earlier >= 0 and STOP not in rows[earlier : later + 1]:
                counts[lag - 1][rows[later], rows[earlier]] += 1
    return counts


def corpus_twin(
    sources: Sequence[Sequence[Sequence[str]]],
    row_of: Callable[[str], int],
    max_lag: int,
    boundary_token: str | None = None,
) -> tuple[Counter[int], list[Counter[tuple[int, int]]]]:
    """Count sources, each a list of parts (lines, sentences) that are lists of tokens, from the words themselves."""
    unigrams: Counter[int] = Counter()
    pairs: list[Counter[tuple[int, int]]] = [Counter() for _ in range(max_lag)]
    for source in sources:
        parts = [list(part) for part in source if part]
        sequences = parts if boundary_token is None else [[word for part in parts for word in [*part, boundary_token]]]
        for sequence in sequences:
            rows = [row_of(word) for word in sequence]
            unigrams.update(rows)
            for lag in range(1, max_lag + 1):
                pairs[lag - 1].update(zip(rows[lag:], rows, strict=False))
    return unigrams, pairs


def sum_twin(
    matrices: Sequence[Mapping[tuple[int, int], float]], weights: Sequence[float]
) -> dict[tuple[int, int], float]:
    """Weighted sum of sparse matrices without its zeros (twin of merge_rows)."""
    total: dict[tuple[int, int], float] = {}
    for matrix, weight in zip(matrices, weights, strict=True):
        for pair, count in matrix.items():
            total[pair] = total.get(pair, 0) + weight * count
    return {pair: count for pair, count in total.items() if count != 0}


def _split(items: Iterable[int], is_mark: Callable[[int], bool]) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for item in items:
        if is_mark(item):
            parts.append([])
        else:
            parts[-1].append(item)
    return parts
