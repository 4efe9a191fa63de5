"""Little text and few lags: what is said, and that a fit goes on."""

from __future__ import annotations

import pytest

import textlds
from counts.texts import make_text
from textlds import CountSettings, FitSettings
from textlds.errors import ArgumentError

LINE = "the quick brown fox jumps over the lazy dog near the river bank"


def test_few_tokens_are_put_down_to_repeated_lines(caplog):
    textlds.train(texts=[LINE] * 1000, state_size=2, iterations=1)
    assert "999 of 1,000 lines repeat others and are left out, 12,987 tokens; repeats='all'" in caplog.text
    assert "The counts have only 13 tokens" in caplog.text
    caplog.clear()
    textlds.train(texts=[LINE], state_size=2, iterations=1)
    assert "The counts have only 13 tokens" in caplog.text
    assert "repeat" not in caplog.text


@pytest.mark.parametrize("max_lag", [1, 3])
def test_the_horizon_follows_the_counts_unless_it_is_given(max_lag, tmp_path):
    counts = textlds.count(texts=[make_text(0, 12_000)], max_lag=max_lag)

    def fitted(settings=None, **options):
        return textlds.fit(counts, state_size=4, iterations=2, settings=settings, **options)

    if max_lag == 1:
        with pytest.warns(UserWarning, match="the counts have lag 1 alone"):
            model = fitted()
    else:
        model = fitted(output=tmp_path / "model")
        again = fitted(output=tmp_path / "model", resume=True)  # finished, with the same settings
        assert again.history.settings == model.history.settings
    assert model.history.settings["em_horizon"] == max_lag
    with pytest.raises(ArgumentError, match=f"em_horizon=5 is not between 1 and {max_lag}"):
        fitted(FitSettings(em_horizon=5))


def test_training_with_one_lag():
    with pytest.warns(UserWarning, match="the counts have lag 1 alone"):
        model = textlds.train(
            texts=[make_text(0, 12_000)], state_size=4, iterations=1, counting=CountSettings(max_lag=1)
        )
    assert model.history.settings["em_horizon"] == 1
