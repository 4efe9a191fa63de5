"""Leaving out repeated lines on a Dask cluster: the same lines as on one machine.

    piece ──▶ hashes of its units ──▶ shares by hash ──▶ one task per share ranks the units of all pieces
      └───────────────────────────────────────────────────▶ flags of the piece ──▶ the piece without its repeats

Equal units have equal hashes and meet in one share, in the order of the pieces. A share takes bounded memory;
hashes are a few hundredths of the text.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from textlds.counts.arrays import Flags
from textlds.counts.pieces import Piece
from textlds.counts.repeats import UNIT_BYTES, Hashes, Repeats, ranks, unit_hashes, without
from textlds.integrations.cluster import Cluster

SHARE_BYTES = 1 << 28  # that the task of one share may take


def leave_out_on_cluster(cluster: Cluster, pieces: list[Any], kept: int) -> tuple[list[Any], Repeats]:
    """Return the pieces without units that repeat more than ``kept`` times, and what was left out.

    Args:
        cluster: Where the pieces lie.
        pieces: Futures of :class:`Piece`, in the order of the text.
        kept: N.
    """
    hashes = cluster.submit("hashes", unit_hashes, [(piece,) for piece in pieces])
    sizes = cluster.gather("compare lines", "units", len, [(found,) for found in hashes])
    shares = max(1, -(-sum(sizes) * UNIT_BYTES // SHARE_BYTES))
    flags: list[list[Any]] = [[] for _ in pieces]
    for share in range(shares):
        parts = cluster.submit("share", _share, [(found, share, shares) for found in hashes])
        (ranked,) = cluster.submit("ranks", _repeated, [(kept, *parts)])
        picked = cluster.submit("flags", _item, [(ranked, i) for i in range(len(pieces))])
        for own, flag in zip(flags, picked, strict=True):
            own.append(flag)
    jobs = [(piece, found, *own) for piece, found, own in zip(pieces, hashes, flags, strict=True)]
    left = cluster.submit("without", _left_out, jobs)
    facts = cluster.gather("leave out", "facts", _facts, [(*job[:2], one) for job, one in zip(jobs, left, strict=True)])
    units, dropped, tokens = (sum(column) for column in zip(*facts, strict=True))
    return left, Repeats(kept, units, dropped, tokens)


# What runs on the workers


def _share(hashes: Hashes, share: int, shares: int) -> Hashes:
    return hashes[_of_share(hashes, share, shares)]


def _of_share(hashes: Hashes, share: int, shares: int) -> Flags:
    found: Flags = (hashes != 0) & (hashes % np.uint64(shares) == share)
    return found


def _repeated(kept: int, *parts: Hashes) -> list[Flags]:
    """Return, for the hashes of every piece, whether they come after the first ``kept`` equal ones."""
    bounds = itertools.accumulate(map(len, parts))
    return np.split(ranks(np.concatenate(parts)) >= kept, list(bounds)[:-1])


def _item(flags: list[Flags], index: int) -> Flags:
    return flags[index]


def _left_out(piece: Piece, hashes: Hashes, *flags: Flags) -> Piece:
    """Return the piece without its repeated units, of which each share has told its own."""
    dropped = np.zeros(len(hashes), np.bool_)
    for share, own in enumerate(flags):
        dropped[_of_share(hashes, share, len(flags))] = own
    return without(piece, dropped)


def _facts(piece: Piece, hashes: Hashes, left: Piece) -> tuple[int, int, int]:
    """Return the number of long units, of those that were left out, and of their tokens."""
    units = int(np.count_nonzero(hashes))
    return units, units - int(np.count_nonzero(unit_hashes(left))), piece.tokens - left.tokens
