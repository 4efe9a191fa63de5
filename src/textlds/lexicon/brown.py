"""Brown clusters (Brown et al. 1992) from counts of neighbouring words, by the algorithm of Liang (2005).

Words enter by frequency into a window of k clusters; when there are k + 1, the two are merged whose merging loses the
least mutual information between a cluster and the next. When all words are in, the k clusters are merged to one, and
the way down that tree is a cluster's path of zeros and ones.

With n_cd the bigram counts between clusters, a_c and b_d how often a word of the cluster occurs first and second in
all, and f(n) = n log n, the information within the window is, but for constants,

    Σ_cd f(n_cd) − Σ_c R_c log a_c − Σ_d S_d log b_d,        R, S: row and column sums of the window.

The last two terms of a merger's loss need no sum over the other clusters. The first, here ``F[i, j]``, is kept for all
pairs: when a word enters or two clusters merge, a cluster x adds f(n_ix) + f(n_jx) − f(n_ix + n_jx) to it, zero unless
it is a neighbour of both, so that an update costs O(k · neighbours) and not the k² logarithms of the plain algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textlds.compiled import kernel
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.progress import Progress, SilentProgress

Array = Any  # arrays inside kernels: numba infers dtype and layout
_TABLE = 1 << 16  # counts whose f is looked up


def brown_clusters(
    counts: LagCounts, n: int, *, most: int | None = None, progress: Progress | None = None
) -> list[str]:
    """Return the path of every row of a vocabulary; rows that are in no cluster share that of nothing, the empty one.

    Cost: O(V (k² + k · neighbours)), about 5 ms a word at k = 1000.

    Args:
        counts: Those of lag 1 are bigrams, [later, earlier].
        n: How many clusters, k.
        most: How many rows are put into clusters, the most frequent; None for all that occur.
        progress: Shows how it goes.
    """
    if n < 2:
        raise ArgumentError(f"n={n} clusters; at least 2 are needed for a tree.")
    later_by_earlier = counts.lags[0].tocsr()
    followers, leaders = later_by_earlier.T.tocsr(), later_by_earlier
    order = np.argsort(-counts.unigrams, kind="stable")
    order = order[counts.unigrams[order] > 0][:most]
    window = Window(followers, leaders, min(n, len(order)))
    with (progress or SilentProgress()).task("Clusters", len(order), "words") as task:
        for word in order.tolist():
            window.enter(word)
            task.advance()
    return window.paths()


class Window:
    """The clusters so far.

    Args:
        followers: Row w: how often each word occurs right after w, CSR.
        leaders: Row w: how often each word occurs right before w, CSR.
        size: k.
    """

    def __init__(self, followers: Any, leaders: Any, size: int) -> None:
        self._followers, self._leaders = followers, leaders
        slots = size + 1
        self.size, self.cluster = size, np.full(followers.shape[0], -1)
        self.counts = np.zeros((2, slots, slots), np.int64)  # n_cd: c, then d; and the transpose, for its rows
        self.F = np.zeros((slots, slots))
        self.active = np.zeros(slots, bool)
        self._firsts, self._seconds = (np.asarray(m.sum(axis=1)).ravel() for m in (followers, leaders))
        self._margins = np.ones((2, slots))  # a, b
        self._sums = np.zeros((2, slots))  # R, S
        self._logs = np.zeros((2, slots, slots))  # log(a_c + a_d), log(b_c + b_d)
        numbers = np.arange(_TABLE, dtype=np.float64)
        self._table = numbers * np.log(np.maximum(numbers, 1))

    def enter(self, word: int) -> None:
        """Put a word into the window, as a cluster of its own, and merge two if they are too many."""
        x = int(np.argmin(self.active))
        self.active[x], self.cluster[word] = True, x
        for side, matrix in enumerate((self._followers, self._leaders)):
            begin, end = matrix.indptr[word], matrix.indptr[word + 1]
            clusters = self.cluster[matrix.indices[begin:end]]
            inside = clusters >= 0
            weights = matrix.data[begin:end][inside]
            self.counts[side, x] = np.bincount(clusters[inside], weights, len(self.active))
            self.counts[1 - side, :, x] = self.counts[side, x]
        self._sums += self.counts[:, :, x]
        self._sums[:, x] = self.counts[:, x].sum(axis=1)
        self._margins[:, x] = max(self._firsts[word], 1), max(self._seconds[word], 1)
        add_cluster(self.counts, self.F, self.active, x, self._table)
        sum_logs(self._margins, self._logs, x)
        if self.active.sum() > self.size:
            self.merge_best()

    def merge_best(self) -> tuple[int, int]:
        """Merge the two clusters whose merging loses least; return the slot that stays and the one that is free now."""
        i, j = best_pair(self.F, self._sums, self._margins, self._logs, self.active)
        if np.count_nonzero(self.counts[:, i]) < np.count_nonzero(self.counts[:, j]):
            i, j = j, i  # cost goes with the neighbours of the one that is dissolved
        merge(self.counts, self.F, self.active, i, j, self._table)
        for sums in (self._margins, self._sums):
            sums[:, i] += sums[:, j]
        self._sums[:, j] = 0
        sum_logs(self._margins, self._logs, i)
        self.cluster[self.cluster == j] = i
        return i, j

    def paths(self) -> list[str]:
        """Merge what is left to one cluster and return every word's way down the tree."""
        cluster = self.cluster.copy()
        leaves: dict[int, list[int]] = {int(slot): [int(slot)] for slot in np.flatnonzero(self.active)}
        paths = dict.fromkeys(leaves, "")
        while len(leaves) > 1:
            i, j = self.merge_best()
            for bit, slot in (("0", i), ("1", j)):
                for leaf in leaves[slot]:
                    paths[leaf] = bit + paths[leaf]
            leaves[i] += leaves.pop(j)
        return [paths[slot] if slot >= 0 else "" for slot in cluster.tolist()]


@kernel
def f(n: int, table: Array) -> float:
    """Return n log n."""
    if n < table.size:
        return float(table[n])
    return float(n * np.log(n))


@kernel
def joint(n: int, m: int, table: Array) -> float:
    """Return f(n) + f(m) − f(n + m), zero if either is."""
    if n == 0 or m == 0:
        return 0.0
    return f(n, table) + f(m, table) - f(n + m, table)


@kernel
def corner(counts: Array, i: int, j: int, table: Array) -> float:
    """Return what the four counts among i and j lose when they become one."""
    a, b, c, d = counts[i, i], counts[i, j], counts[j, i], counts[j, j]
    return f(a, table) + f(b, table) + f(c, table) + f(d, table) - f(a + b + c + d, table)


@kernel
def neighbours(row: Array, active: Array, x: int, y: int) -> Array:
    """Return the active clusters other than x and y that a row of counts has."""
    found = np.empty(row.size, np.int64)
    n = 0
    for d in range(row.size):
        if row[d] and active[d] and d != x and d != y:
            found[n] = d
            n += 1
    return found[:n]


@kernel
def add_cluster(counts: Array, F: Array, active: Array, x: int, table: Array) -> None:
    """Take a cluster whose counts are there already into the losses F."""
    for side in range(2):  # those after x, and those before it
        own = counts[side, x]
        near = neighbours(own, active, x, x)
        for c in near:
            for d in near:
                if d > c:  # x is a neighbour of both
                    gain = joint(own[c], own[d], table)
                    F[c, d] += gain
                    F[d, c] += gain
        for c in range(active.size):
            if active[c] and c != x:
                other, total = counts[side, c], 0.0
                for d in near:
                    if d != c:
                        total += joint(own[d], other[d], table)
                if side == 0:
                    total += corner(counts[0], c, x, table)
                F[c, x] += total
                F[x, c] = F[c, x]


@kernel
def change(n: int, m: int, n2: int, m2: int, table: Array) -> float:
    """Return what joint(·, ·) gains when the counts (n, m) with one cluster and (n2, m2) with another are added."""
    return joint(n + n2, m + m2, table) - joint(n, m, table) - joint(n2, m2, table)


@kernel
def merge(counts: Array, F: Array, active: Array, i: int, j: int, table: Array) -> None:
    """Merge cluster j into cluster i, in the counts and in the losses F."""
    active[j] = False
    for c in range(active.size):
        if active[c] and c != i:
            F[c, i] -= corner(counts[0], c, i, table)
    for side in range(2):
        kept, lost = counts[side, i], counts[side, j]
        near = neighbours(lost, active, i, i)
        reach = neighbours(kept + lost, active, i, i)
        for c in near:
            for d in reach:
                if d != c and (d > c or not lost[d]):  # a pair is met twice if j is next to both
                    gain = change(kept[c], kept[d], lost[c], lost[d], table)
                    F[c, d] += gain
                    F[d, c] += gain
        # third clusters of the pair (c, i): those next to j count differently now, and j is none any more
        for c in range(active.size):
            if active[c] and c != i:
                other = counts[side, c]
                total = -joint(other[j], kept[j], table)
                for d in near:
                    if d != c and other[d]:
                        total += joint(other[d], kept[d] + lost[d], table) - joint(other[d], kept[d], table)
                F[c, i] += total
    for side in range(2):
        counts[side, i] += counts[side, j]
        counts[side, j] = 0
    for side in range(2):
        counts[side, :, i] += counts[side, :, j]
        counts[side, :, j] = 0
    for c in range(active.size):
        if active[c] and c != i:
            F[c, i] += corner(counts[0], c, i, table)
            F[i, c] = F[c, i]
        F[c, j] = F[j, c] = 0.0


@kernel
def sum_logs(margins: Array, logs: Array, x: int) -> None:
    """Bring log(a_c + a_x) and log(b_c + b_x) up to date for all c."""
    for side in range(2):
        for c in range(margins.shape[1]):
            value = np.log(margins[side, c] + margins[side, x])
            logs[side, c, x] = logs[side, x, c] = value


@kernel
def best_pair(F: Array, sums: Array, margins: Array, logs: Array, active: Array) -> tuple[int, int]:
    """Return the pair of clusters whose merging loses least, the first one of several."""
    rows, columns = sums
    own = rows * np.log(margins[0]) + columns * np.log(margins[1])
    best, best_i, best_j = np.inf, -1, -1
    for i in range(active.size):
        if not active[i]:
            continue
        for j in range(i + 1, active.size):
            loss = F[i, j] - own[i] - own[j]
            loss += (rows[i] + rows[j]) * logs[0, i, j] + (columns[i] + columns[j]) * logs[1, i, j]
            if loss < best and active[j]:
                best, best_i, best_j = loss, i, j
    return best_i, best_j
