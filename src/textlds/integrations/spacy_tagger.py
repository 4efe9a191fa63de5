"""spaCy: a tagger as a component.

    nlp.add_pipe("textlds_tagger", config={"tagger": "tagger"})       token.tag_, token.pos_ or doc.ents

White space is no token. Sentences are the document's own if it has them; otherwise they end at lines and after
``. ! ?`` that no lower-case word follows. A pipeline that was saved holds the tagger with its model, and needs their
folders no more.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textlds.errors import ArgumentError, FormatError, MissingExtraError

try:
    import srsly
    from spacy.language import Language
    from spacy.tokens import Doc, Span
    from spacy.util import filter_spans
except ImportError as _error:
    raise MissingExtraError("textlds.integrations.spacy_tagger", "spacy") from _error

from textlds.integrations.spacy import BatchComponent, check_named

if TYPE_CHECKING:
    from textlds.tagging.tagger import Tagger

ASSIGN = ("auto", "tag", "pos", "ents")
UNIVERSAL = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "CONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
        "SPACE",
    ]
)


class TaggerComponent(BatchComponent):
    """A component that tags. Get one from ``nlp.add_pipe("textlds_tagger", ...)``.

    Args:
        name: Of the component.
        tagger: The path of a tagger folder.
        assign: ``"tag"``: ``token.tag_``; ``"pos"``: ``token.pos_``; ``"ents"``: ``doc.ents``; ``"auto"``: what suits
            the tagger's tags.
        min_confidence: As for :meth:`textlds.Tagger.tag`; less sure tags are left empty.
        threads: How many; all cores by default.
    """

    def __init__(
        self,
        name: str,
        tagger: str | os.PathLike[str] | None,
        *,
        assign: str = "auto",
        min_confidence: float = 0.0,
        threads: int | None = None,
    ) -> None:
        if assign not in ASSIGN:
            raise ArgumentError(f"assign={assign!r} is not one of {', '.join(map(repr, ASSIGN))}.")
        self.name = name
        self._source, self._assign = tagger, assign
        self._tagger: Tagger | None = None
        self._options: dict[str, Any] = {"min_confidence": min_confidence, "threads": threads}

    @property
    def tagger(self) -> Tagger:
        """The tagger, read from its folder if it has not been yet."""
        from textlds.tagging.tagger import Tagger

        if self._tagger is None:
            if self._source is None:
                raise ArgumentError('no tagger was named. Add config={"tagger": PATH}, the path of a tagger folder.')
            self._tagger = Tagger.load(self._source)
        return self._tagger

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Tag these documents."""
        assign = self._assign
        if assign == "auto":
            universal = UNIVERSAL.issuperset(self.tagger.names)
            assign = "ents" if self.tagger.task == "entities" else "pos" if universal else "tag"
        places = [sentence_places(doc) for doc in docs]
        texts = [[[doc[i].text for i in sentence] for sentence in of] for doc, of in zip(docs, places, strict=True)]
        found = iter(self.tagger.tag(texts, **self._options))
        for doc, sentences in zip(docs, places, strict=True):
            ents = []
            for sentence in sentences:
                tagged = next(found)
                if assign == "ents":
                    ents += [Span(doc, sentence[e.start], sentence[e.end - 1] + 1, e.kind) for e in tagged.entities]
                    continue
                for place, tag in zip(sentence, tagged.tags, strict=True):
                    setattr(doc[place], f"{assign}_", "" if tag == "_" else tag)
            if assign == "ents":
                doc.ents = filter_spans([*ents, *doc.ents])

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the tagger with its model into the folder of the pipeline."""
        self.tagger.save(path, bundle=True, force=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TaggerComponent:
        """Read the tagger from the folder of the pipeline."""
        from textlds.tagging.tagger import Tagger

        self._tagger = Tagger.load(path)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the tagger and its model."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tagger")
            self.tagger.save(path, bundle=True)
            files = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        data: bytes = srsly.msgpack_dumps(files)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> TaggerComponent:
        """Read what :meth:`to_bytes` returned; it is checked as a folder is."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in srsly.msgpack_loads(data).items():
                if Path(name).parts[:-1] not in ((), ("model",)) or Path(name).is_absolute():
                    raise FormatError(f"the stored tagger names a file outside its folder: {name!r}.")
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            self.from_disk(folder).tagger.source.model  # noqa: B018  # read while its folder is there
        return self


def sentence_places(doc: Doc) -> list[list[int]]:
    """Return the places of a document's words, sentence by sentence."""
    own = doc.has_annotation("SENT_START")
    found: list[list[int]] = [[]]
    begins = ended = False  # a sentence begins here; one ends here unless it continues in lower case
    for token in doc:
        begins |= bool(token.is_sent_start) if own else token.is_space and "\n" in token.text
        if token.is_space:
            continue
        if begins or (ended and not token.text[:1].islower()):
            found.append([])
        found[-1].append(token.i)
        begins, ended = False, not own and token.text in (".", "!", "?", "…")
    return [sentence for sentence in found if sentence]


@Language.factory(
    "textlds_tagger",
    assigns=["token.tag", "token.pos", "doc.ents"],
    default_config={"tagger": None, "assign": "auto", "min_confidence": 0.0, "threads": None},
)
def make_tagger(
    nlp: Language, name: str, tagger: str | None, assign: str, min_confidence: float, threads: int | None
) -> TaggerComponent:
    """Make the component ``textlds_tagger`` for ``nlp.add_pipe``."""
    check_named(tagger, "tagger")
    return TaggerComponent(name, tagger, assign=assign, min_confidence=min_confidence, threads=threads)
