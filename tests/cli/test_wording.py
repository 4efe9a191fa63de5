"""What the library says of settings, as the command line calls them."""

from __future__ import annotations

import pytest

from textlds.cli.wording import as_options


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("state_size=0 must be at least 1.", "--state-size 0 must be at least 1."),
        ("Use repeats='all', or boundaries='line'.", "Use --repeats all, or --boundaries line."),
        ("Resume it with resume=True (--resume), or wait.", "Resume it with --resume, or wait."),
        ("Say so with repeats='all' (--repeats all).", "Say so with --repeats all."),
        ("Name the one with the text: text_column=... (--text-column).", "Name the one with the text: --text-column."),
        ("Give a context (context=..., --context) to it.", "Give a context (--context) to it."),
        ("recipe='state+word, fitted' is one.", "--recipe 'state+word, fitted' is one."),
        ("grid=2 has another name.", "--select 2 has another name."),
        # no options, or nothing that an option can say
        ("weighting='equal' is a word of a recipe.", "weighting='equal' is a word of a recipe."),
        ("seed=None, force=False stay.", "seed=None, force=False stay."),
        ("https://example.org/?format=3&seed=4 stays.", "https://example.org/?format=3&seed=4 stays."),
        ("E = mc² stays.", "E = mc² stays."),
    ],
)
def test_settings_are_options(said, shown):
    assert as_options(said) == shown


def test_every_kind_of_message_is_translated(run, tmp_path):
    corpus = tmp_path / "text.txt"
    corpus.write_text("one line of text is here again and again .\n" * 50)
    made = run("train", corpus, "-o", tmp_path / "model")
    assert "--repeats all" in made.stderr
    assert "repeats='all'" not in made.stderr
    refused = run("count", corpus, "-o", tmp_path / "counts", "--repeats", 1, "--boundaries", "none", code=1)
    assert "Use --repeats all, or --boundaries line." in " ".join(refused.stderr.split())
    usage = run("train", corpus, "-o", tmp_path / "other", "--state-size", 0, code=2)
    assert "--state-size 0 must be" in " ".join(usage.stderr.split())
