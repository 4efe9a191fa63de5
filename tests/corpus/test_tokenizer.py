from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import tokenizer_twin
from oracles.texts import PARAGRAPHS, messy_text, sample_text
from textlds.corpus.settings import BOUNDARY, END, TextSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer, as_callable, separated
from textlds.errors import ArgumentError

SETTINGS = [
    TextSettings(tokenizer=tokenizer, digits=digits, boundaries=boundaries)  # type: ignore[arg-type]
    for tokenizer in ("words", "whitespace")
    for digits, boundaries in [("num", "line"), ("zero", "sentence"), ("keep", "document"), ("num", "none")]
]


def stream(chunks: Sequence[bytes], settings: TextSettings) -> list[str | int]:
    """Tokens and markers that the compiled tokeniser finds."""
    worker = ChunkTokenizer(settings)
    ids = np.concatenate([worker.ids(chunk, end=k == len(chunks) - 1) for k, chunk in enumerate(chunks)])
    assert worker.table.counts.sum() == (ids >= 0).sum()
    words = worker.table.words()
    return [words[i] if i >= 0 else int(i) for i in ids]


def words_of(text: str, **settings: str) -> list[str]:
    return [token for token in stream([text.encode()], TextSettings(**settings)) if isinstance(token, str)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I can't, won't; it's dogs' and I'd've", "I ca n't , wo n't ; it 's dogs ' and I 'd 've"),
        ("CAN'T SHE’LL isn’t y'all", "CA N'T SHE ’LL is n’t y'all"),
        ("Mr. J. R. Smith of the U.S. etc. etc.", "Mr. J. R. Smith of the U.S. etc. etc."),
        ("U.S.-based J.-P. Ph.D. e.g. a.m.", "U.S.-based J.-P. Ph.D. e.g. a.m."),
        ("The end. end.The it... so--called -5", "The end . end . The it ... so -- called - NUM"),
        ("3,000.50 9:30 1/2 1990s COVID-19 a/b", "NUM,NUM.NUM NUM:NUM NUM/NUM NUMs COVID-NUM a / b"),
        ("(well-known) [x] \"q\" “q” 5% $7", "( well-known ) [ x ] \" q \" “ q ” NUM % $ NUM"),
        ("the company 's shares do n't ``rise''", "the company 's shares do n't `` rise ''"),
        ("the letter 's' here", "the letter ' s ' here"),
        ("co\u00adop can\u200bnot a\u00a0b\x00c", "coop can not a b c"),
        ("中文 日本", "中 文 日 本"),
        ("👩‍👩‍👧 👍🏽 🇩🇪🇫🇷 ❤️!", "👩‍👩‍👧 👍🏽 🇩🇪 🇫🇷 ❤️ !"),
        ("צה״ל paral·lel हिन्दी می\u200cخواهم", "צה״ל paral·lel हिन्दी می\u200cخواهم"),
        ("кто-то сказал: «Да!» ١٢٣", "кто-то сказал : « Да ! » NUM"),
        ("e\u0301te\u0301 d'en", "e\u0301te\u0301 d'en"),
        ("", ""),
    ],
)  # fmt: skip
def test_words(text: str, expected: str) -> None:
    assert words_of(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ended. Then it began! Did it?", ["It ended .", "Then it began !", "Did it ?"]),
        ('"Go." (He went.) Yes... no', ['" Go . "', "( He went . )", "Yes ... no"]),
        ("Mr. Smith of the U.S. Army, J. Doe. ok", ["Mr. Smith of the U.S. Army , J. Doe . ok"]),
        ("他走了。他回来了！好", ["他 走 了 。", "他 回 来 了 ！", "好"]),
        ("है। क्या؟ نعم", ["है ।", "क्या ؟", "نعم"]),
        ('see x.y and 3.5. 7 more?! "Yes"', ["see x.y and NUM.NUM .", "NUM more ? !", '" Yes "']),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    found = stream([text.encode()], TextSettings(boundaries="sentence"))
    sentences = [
        list(group) for is_mark, group in itertools.groupby(found, lambda t: t in (BOUNDARY, END)) if not is_mark
    ]
    assert sentences == [sentence.split() for sentence in expected]


@pytest.mark.parametrize(
    ("boundaries", "expected"),
    [
        ("line", ["a", "b", -1, "c", -1, "d", -1, -2]),
        ("document", ["a", "b", "c", -1, "d", -2]),
        ("none", ["a", "b", "c", "d", -2]),
    ],
)
def test_boundaries(boundaries: str, expected: list[str | int]) -> None:
    settings = TextSettings(boundaries=boundaries)  # type: ignore[arg-type]
    assert stream([b"a b\r\nc\n \t\r\nd"], settings) == expected


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_kernel_agrees_with_its_twin_on_text(settings: TextSettings) -> None:
    text = "\n".join(PARAGRAPHS) + "\n" + sample_text(seed=1)
    assert stream([text.encode()], settings) == tokenizer_twin.stream(text, settings)


@given(messy_text, st.sampled_from(SETTINGS))
def test_kernel_agrees_with_its_twin_on_anything(text: str, settings: TextSettings) -> None:
    assert stream([text.encode()], settings) == tokenizer_twin.stream(text, settings)


@given(st.lists(messy_text, min_size=1, max_size=4), st.sampled_from(SETTINGS))
def test_stream_does_not_depend_on_chunks(lines: list[str], settings: TextSettings) -> None:
    chunks = [(line + "\n").encode() for line in lines]
    assert stream(chunks, settings) == stream([b"".join(chunks)], settings)


def test_tokenising_twice_changes_nothing() -> None:
    for paragraph in PARAGRAPHS[:12]:
        once = words_of(paragraph, digits="keep")
        assert words_of(" ".join(once), digits="keep") == once


def test_whitespace_keeps_tokens_whole() -> None:
    assert words_of("don't\u3000U.S. 3,000\tx\u2028y", tokenizer="whitespace") == ["don't", "U.S.", "NUM,NUM", "x", "y"]


def test_long_tokens_and_many_types_make_room() -> None:
    number = "1a" * 5000
    text = f"{number} " + " ".join(f"w{'x' * (i % 50)}é{'y' * (i // 50)}" for i in range(9000))
    found = words_of(text)
    assert found[0] == "NUMa" * 5000
    assert found[1:] == text.split()[1:]


def test_custom_tokenizer_sees_lines_and_keeps_its_tokens() -> None:
    seen = []

    def tokenizer(line: str) -> list[str]:
        seen.append(line)
        return line.split("|")

    worker = ChunkTokenizer(TextSettings(tokenizer="custom", boundaries="line"), tokenizer=tokenizer)
    ids = worker.ids(b"New York|in 1990\r\n\n  \nok", end=True)
    assert seen == ["New York|in 1990", "ok"]
    assert ids.tolist() == [0, 1, -1, 2, -1, -2]
    assert worker.table.words() == ["New York", "in NUM", "ok"]


def test_separated_chunks_are_taken_as_they_are() -> None:
    worker = ChunkTokenizer(TextSettings())
    ids = worker.ids(separated([["New York", "can't"], [], ["x", "can't"]]), end=False, separated=True)
    assert ids.tolist() == [0, 1, -1, 2, 1, -1]
    assert worker.table.words() == ["New York", "can't", "x"]


@pytest.mark.parametrize("token", ["a\nb", "a\x1fb"])
def test_tokens_that_cannot_be_separated_are_refused(token: str) -> None:
    with pytest.raises(ArgumentError, match=r"neither a newline nor U\+001F"):
        separated([["x", token]])


def test_tokenizer_and_settings_must_agree() -> None:
    with pytest.raises(ArgumentError, match="needs the callable"):
        ChunkTokenizer(TextSettings(tokenizer="custom"))
    with pytest.raises(ArgumentError, match="use TextSettings"):
        ChunkTokenizer(TextSettings(), tokenizer=str.split)
    with pytest.raises(ArgumentError, match="neither a callable nor"):
        ChunkTokenizer(TextSettings(tokenizer="custom"), tokenizer=3)  # type: ignore[arg-type]


def test_hugging_face_tokenizer(tmp_path) -> None:  # type: ignore[no-untyped-def]
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"un": 0, "happy": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for given_as in (tokenizer, str(tmp_path / "tokenizer.json")):
        worker = ChunkTokenizer(TextSettings(tokenizer="custom"), tokenizer=given_as)
        assert worker.ids(b"un happy xyz un\n", end=False).tolist() == [0, 1, 2, 0, -1]
        assert worker.table.words() == ["un", "happy", "[UNK]"]
    with pytest.raises(ArgumentError, match="there is no tokenizer file"):
        as_callable(str(tmp_path / "missing.json"))


def test_bytes_that_are_not_utf8_do_no_harm() -> None:
    """The reader refuses them; should they come here, nothing may be read out of bounds."""
    for tail in (b"\xff", b"a\xe2\x82", b"\xf4\xbf\xbf\xbf x", b"\x80\x80"):
        assert ChunkTokenizer(TextSettings()).ids(tail, end=True)[-1] == END
