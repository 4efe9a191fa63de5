"""How text is read, becomes tokens, and is counted or indexed.

:class:`TextSettings` are stored with counts and models: a model tokenises new text exactly as its corpus was.
Importing this module is cheap.
"""

from __future__ import annotations

import dataclasses
import logging
import os
from typing import Any, Literal

from textlds.errors import ArgumentError
from textlds.settings import ADVANCED, Settings, option, settings_class

Tokenizer = Literal["words", "whitespace", "custom"]
Digits = Literal["num", "zero", "keep"]
Unknown = Literal["shape", "single"]
Boundaries = Literal["line", "sentence", "document", "none"]
EncodingErrors = Literal["strict", "replace"]

BOUNDARY = -1  # in a stream of token ids: a co-occurrence window stops here (or meets the boundary token)
END = -2  # the end of a source: no window ever crosses it

MAX_LINE_BYTES = 1 << 26
_PANEL = "Text"

_log = logging.getLogger("textlds")


@settings_class
@dataclasses.dataclass(frozen=True)
class TextSettings(Settings):
    """How text becomes tokens.

    Attributes:
        tokenizer: ``"words"``: the built-in tokeniser for raw text; ``"whitespace"``: the text is tokenised already;
            or a callable that turns a line into tokens (a Hugging Face ``tokenizers.Tokenizer`` will do). Of a
            callable, only ``"custom"`` is stored: it has to be given again where raw text is read.
        digits: ``"num"``: each run of digits becomes NUM, as in the paper; ``"zero"``: each digit becomes 0;
            ``"keep"``: as they are.
        unknown: ``"shape"``: words outside the vocabulary fall into classes by capitalisation, digits and suffix;
            ``"single"``: into one class, as in the paper.
        boundaries: Co-occurrence windows never cross the end of a ``"line"``, of a ``"sentence"``, of a
            ``"document"`` (a blank line), or ``"none"`` of these. They never cross the end of a file.
        boundary_token: If given, such as ``"</s>"``, this token is placed at every boundary and windows run across
            it: the model sees the boundary instead of being cut there.
        custom: The callable, if the tokeniser is one. It is neither stored nor compared.
    """

    tokenizer: Any = option(
        "words", "words: split raw text; whitespace: the text is tokenised already.",
        words=("words", "whitespace"), panel=_PANEL,
    )  # fmt: skip
    digits: Digits = option(
        "num", "num: each run of digits becomes NUM; zero: each digit becomes 0; keep: unchanged.",
        words=("num", "zero", "keep"), panel=_PANEL,
    )  # fmt: skip
    unknown: Unknown = option(
        "shape", "shape: classes of unknown words by capitals, digits and suffix; single: one class.",
        words=("shape", "single"), panel=_PANEL,
    )  # fmt: skip
    boundaries: Boundaries = option(
        "line", "Contexts never cross the end of this unit.",
        words=("line", "sentence", "document", "none"), panel=_PANEL,
    )  # fmt: skip
    boundary_token: str | None = option(
        None, "Put this token at every boundary, and let contexts cross it.", kind=str, panel=_PANEL, metavar="TOKEN"
    )
    custom: Any = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        given = self.tokenizer
        if callable(given) or (hasattr(given, "encode") and not isinstance(given, str)):
            object.__setattr__(self, "custom", given)
            object.__setattr__(self, "tokenizer", "custom")
        self._check_options(*["tokenizer"] * (self.tokenizer == "custom"))
        if self.boundary_token is not None:
            if self.boundaries == "none":
                raise ArgumentError("boundary_token needs boundaries, but boundaries='none'.")
            token = self.boundary_token
            if not isinstance(token, str) or not token or any(c.isspace() for c in token):
                raise ArgumentError(f"boundary_token={token!r} must be a word without spaces.")


@settings_class
@dataclasses.dataclass(frozen=True)
class ReadSettings(Settings):
    """How files and records are read.

    Attributes:
        text_column: The field of JSON lines, or column of Parquet or a data set, that holds the text or its tokens.
        encoding_errors: Bytes that are not UTF-8 are an error (``"strict"``) or become U+FFFD (``"replace"``).
        max_line_bytes: A longer line is an error: a line is held in memory as a whole.
    """

    text_column: str = option(
        "text", "Column of .jsonl and .parquet files that holds the text.", kind=str, panel=_PANEL, metavar="NAME"
    )
    encoding_errors: EncodingErrors = option(
        "strict", "Bytes that are not UTF-8: an error, or replaced.", words=("strict", "replace"), panel=_PANEL
    )
    max_line_bytes: int = option(
        MAX_LINE_BYTES, "Refuse longer lines: a line is held in memory.", kind=int, minimum=1, panel=ADVANCED
    )


@settings_class
@dataclasses.dataclass(frozen=True)
class CountSettings(ReadSettings):
    """How a corpus is read and counted.

    Attributes:
        vocab_size: How many of the most frequent types are kept; the others fall into unknown classes.
        max_lag: R, the largest distance counted.
        min_count: Keep no type that occurs less often; ``"auto"``: 5 from a million tokens on, fewer in a small corpus.
        repeats: Count each distinct line of eight tokens or more this often at most (each sentence, where
            ``boundaries="sentence"``); ``"all"``: every occurrence; ``"auto"``: all, but once in
            :func:`textlds.train` unless contexts cross lines.
        vocabulary: Count these words instead of learning them: a :class:`Vocabulary`, a file with one word per line, or
            a counts folder. A vocabulary and a folder bring their text settings.
        memory: Budget for the work, such as ``"4GB"``.
    """

    vocab_size: int = option(100_000, "Keep this many of the most frequent words.", kind=int, minimum=1, panel=_PANEL)
    max_lag: int = option(7, "Count words up to this far apart.", kind=int, minimum=1, panel=_PANEL)
    min_count: int | Literal["auto"] = option(
        "auto", "Drop words that occur less often; auto: 5 from a million tokens on, fewer for less text.",
        words=("auto",), kind=int, minimum=1, panel=_PANEL,
    )  # fmt: skip
    repeats: int | Literal["auto", "all"] = option(
        "auto", "Count identical lines at most this often; auto: once in train, always in count.",
        words=("auto", "all"), kind=int, minimum=1, panel=_PANEL,
    )  # fmt: skip
    vocabulary: Any = option(
        None, "Take the vocabulary from this file, one word per line, or counts folder.",
        kind=str, panel=_PANEL, metavar="PATH", flag="--vocab",
    )  # fmt: skip
    memory: str | int = option("4GB", "Memory budget for counting.", kind=str, panel=_PANEL, metavar="AMOUNT")

    def __post_init__(self) -> None:
        self._check_options("vocabulary", "memory")  # checked where they are used: objects, and numbers of bytes

    def for_training(self, text: TextSettings | None) -> CountSettings:
        """Return the settings with which a model is trained: lines that repeat are counted once.

        Where contexts cross lines, none can be left out without making neighbours of words that are none. This is
        said, unless all were asked for.
        """
        if self.repeats != "auto":
            return self
        boundaries = self._boundaries(TextSettings.joined(text, "text"))
        if boundaries in ("line", "sentence"):
            return self.replace(repeats=1)
        _log.warning(
            "Lines that repeat, such as a licence after every book, are all counted: with boundaries=%r, contexts "
            "cross lines, and none can be left out. To count them once, put each paragraph on one line and use "
            "boundaries='line'. If all are meant, say so with repeats='all' (--repeats all).",
            boundaries,
        )
        return self

    def _boundaries(self, text: TextSettings) -> Boundaries:
        """Return the boundaries that will be used: a vocabulary and a counts folder bring theirs."""
        given = getattr(self.vocabulary, "settings", text)
        if isinstance(self.vocabulary, str | os.PathLike) and os.path.isdir(self.vocabulary):
            from textlds.storage.folders import read_config

            given = TextSettings.from_json(read_config(self.vocabulary, kind="counts", check="sizes")["settings"])
        boundaries: Boundaries = given.boundaries
        return boundaries

    def least_count(self, tokens: int) -> int:
        """Return how often a type has to occur among so many tokens to be kept."""
        return max(1, min(5, tokens // 200_000)) if self.min_count == "auto" else self.min_count


@settings_class
@dataclasses.dataclass(frozen=True)
class IndexSettings(ReadSettings):
    """Which occurrences an index keeps, and how its corpus is read.

    Attributes:
        min_count: Words that occur less often are left out.
        per_word: How many occurrences of a word are kept, drawn at random, or ``"all"``.
        seed: Of that draw.
    """

    min_count: int = option(1, "Leave out words that occur less often.", kind=int, minimum=1)
    per_word: int | Literal["all"] = option(
        1000, "Keep so many occurrences of a word, drawn at random.", words=("all",), kind=int, minimum=1
    )
    seed: int = option(0, "Of that draw.", kind=int, minimum=0)

    @property
    def kept(self) -> int | None:
        """How many occurrences of a word are kept; None for all."""
        return None if self.per_word == "all" else self.per_word


def contradiction(text: TextSettings, words: TextSettings) -> str | None:
    """Return the first option that was set in ``text`` and differs from those of a vocabulary, or None."""
    for name, field in TextSettings.options().items():
        if getattr(text, name) not in (field.default, getattr(words, name)):
            return name
    return None
