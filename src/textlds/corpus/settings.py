"""How text becomes tokens: the settings that counts and models carry with them.

A model tokenises new text exactly as its corpus was tokenised, because these settings are stored with it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args

from textlds.errors import ArgumentError

Tokenizer = Literal["words", "whitespace", "custom"]
Digits = Literal["num", "zero", "keep"]
Unknown = Literal["shape", "single"]
Boundaries = Literal["line", "sentence", "document", "none"]

BOUNDARY = -1  # in a stream of token ids: a co-occurrence window stops here (or meets the boundary token)
END = -2  # the end of a source: no window ever crosses it


@dataclasses.dataclass(frozen=True)
class TextSettings:
    """How text becomes tokens.

    Attributes:
        tokenizer: ``"words"``: the built-in tokeniser for raw text; ``"whitespace"``: the text is tokenised already;
            ``"custom"``: a callable of the user's, which has to be given again where raw text is read.
        digits: ``"num"``: each run of digits becomes NUM, as in the paper; ``"zero"``: each digit becomes 0;
            ``"keep"``: as they are.
        unknown: ``"shape"``: words outside the vocabulary fall into classes by capitalisation, digits and suffix;
            ``"single"``: into one class, as in the paper.
        boundaries: What a co-occurrence window never crosses: the end of a ``"line"``, of a ``"sentence"``, of a
            ``"document"`` (a blank line), or ``"none"`` of these. It never crosses the end of a file.
        boundary_token: If given, such as ``"</s>"``, this token is placed at every boundary and windows run across
            it: the model sees the boundary instead of being cut there.
    """

    tokenizer: Tokenizer = "words"
    digits: Digits = "num"
    unknown: Unknown = "shape"
    boundaries: Boundaries = "line"
    boundary_token: str | None = None

    def __post_init__(self) -> None:
        for name, options in _OPTIONS.items():
            value = getattr(self, name)
            if value not in options:
                raise ArgumentError(f"{name}={value!r} is not one of {', '.join(map(repr, options))}.")
        if self.boundary_token is not None:
            if self.boundaries == "none":
                raise ArgumentError("boundary_token needs boundaries to stand at, but boundaries='none'.")
            if not self.boundary_token or any(c.isspace() for c in self.boundary_token):
                raise ArgumentError(f"boundary_token={self.boundary_token!r} must be a word without spaces.")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TextSettings:
        """Read the settings back; unknown or missing names are an error."""
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(content, dict) or set(content) != names:
            raise ArgumentError(f"text settings must name exactly {sorted(names)}, not {content!r}.")
        return cls(**content)


_OPTIONS = {
    "tokenizer": get_args(Tokenizer),
    "digits": get_args(Digits),
    "unknown": get_args(Unknown),
    "boundaries": get_args(Boundaries),
}
