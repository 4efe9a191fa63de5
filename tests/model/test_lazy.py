"""Results that are computed as they are taken say how to take them."""

from __future__ import annotations

import pytest

from model.worlds import random_model
from textlds.errors import TextLDSError

TEXTS = ["aaa aab", "aac", ""]


@pytest.mark.parametrize(
    ("name", "single"), [("embed", r"model\(text\)"), ("surprisal", r"next\(model\.surprisal\(\[text\]\)\)")]
)
def test_lazy_results(name, single):
    take = getattr(random_model(0), name)
    for ask in (len, lambda found: found[0], lambda found: found[:2]):
        with pytest.raises(TypeError, match=rf"list\(\.\.\.\); for one text: {single}") as error:
            ask(take(TEXTS))
        assert isinstance(error.value, TextLDSError)
    found = take(TEXTS)
    assert found
    assert iter(found) is found
    assert next(found).tokens == ["aaa", "aab"]
    assert [text.tokens for text in found] == [["aac"], []]  # one pass
    assert list(found) == []
    one, two, three = take(TEXTS)
    assert (one.tokens, two.tokens, three.tokens) == (["aaa", "aab"], ["aac"], [])
