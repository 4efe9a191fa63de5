from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textlds.inference.packing import batches, pack, positions_within

LENGTHS = st.lists(st.integers(0, 12), min_size=0, max_size=20).map(lambda x: np.array(x, np.int64))


@given(LENGTHS)
def test_every_token_has_a_row_of_its_own_and_no_row_is_padding(lengths):
    packing = pack(lengths)
    total = int(lengths.sum())
    assert sorted(packing.rows.tolist()) == list(range(total))
    assert packing.length == lengths.max(initial=0)
    assert packing.steps[0] == 0
    assert packing.steps[-1] == total


@given(LENGTHS)
def test_a_token_stands_right_of_its_predecessors_row(lengths):
    """Row i of step t is followed, in its sequence, by row i of step t + 1: what the lock step rests on."""
    packing = pack(lengths)
    tokens = np.split(packing.rows, np.cumsum(lengths)[:-1]) if len(lengths) else []
    for rows in tokens:
        within = rows - packing.steps[: len(rows)]
        assert np.all(within == within[:1])
        for t, row in enumerate(rows):
            assert packing.steps[t] <= row < packing.steps[t + 1]


@given(LENGTHS)
def test_positions_count_from_the_start_of_each_sequence(lengths):
    assert positions_within(lengths).tolist() == [i for n in lengths for i in range(n)]


@given(LENGTHS.map(lambda x: x[x > 0]), st.integers(1, 30))
def test_batches_hold_every_sequence_once_and_are_of_bounded_size(lengths, tokens):
    found = batches(lengths, tokens=tokens)
    assert sorted(np.concatenate(found).tolist() if found else []) == list(range(len(lengths)))
    for batch in found:
        assert lengths[batch].sum() < tokens + lengths[batch].max()  # at most one sequence too many
        assert np.all(np.diff(lengths[batch]) <= 0)
