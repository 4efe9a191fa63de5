"""Labelled sentences on their way to a tagger: read, checked, made of one kind, and set aside."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.reading.tagged import Tagged, read_tagged
from textlds.errors import ArgumentError, CorpusError
from textlds.tagging.entities import check_entity_tags, convert_tags

Task = Literal["tags", "entities"]
TASKS: tuple[Task, ...] = ("tags", "entities")
_FEWEST_DOCUMENTS = 10  # of which some are set aside whole
Labelled = str | os.PathLike[str] | Iterable[Any]


def labelled_sentences(source: Labelled, name: str = "sentences") -> list[Tagged]:
    """Return labelled sentences from the path of a file, or from :class:`Tagged` or ``(tokens, tags)`` pairs."""
    if isinstance(source, str | os.PathLike):
        return read_tagged(source)
    found = []
    for number, sentence in enumerate(source):
        if not isinstance(sentence, Tagged):
            try:
                tokens, tags = sentence
            except (TypeError, ValueError) as error:
                raise ArgumentError(
                    f"{name}: number {number} is {sentence!r:.80}; give pairs of tokens and tags, or a file's path."
                ) from error
            if isinstance(tokens, str) or isinstance(tags, str):
                raise ArgumentError(
                    f"{name}: number {number} has a string where a list of tokens, or of tags, is needed: "
                    f"{sentence!r:.80}. Split it."
                )
            sentence = Tagged(tuple(tokens), tuple(tags))
        if len(sentence.tokens) != len(sentence.tags):
            raise ArgumentError(
                f"{name}: number {number} has {len(sentence.tokens)} tokens and {len(sentence.tags)} tags; give one "
                f"tag for each token."
            )
        wrong = [one for one in (*sentence.tokens, *sentence.tags) if not isinstance(one, str)]
        if wrong:
            raise ArgumentError(
                f"{name}: number {number} has {wrong[0]!r:.40}, of type {type(wrong[0]).__name__}; tokens and tags are "
                f"strings."
            )
        if sentence.tokens:
            found.append(sentence)
    if not found:
        raise CorpusError(f"{name}: there is no sentence with a token.")
    return found


def prepared(sentences: Sequence[Tagged], task: Task, name: str) -> tuple[list[Tagged], int]:
    """Return sentences with tags as they are learnt, entities in BIOES, and how many tags had to be repaired.

    An I- or E- that continues nothing is read as the beginning of an entity, as conlleval does. (In IOB1 an I- after an
    O is no error, so that repairs are counted only in files that have the others' B- there.)
    """
    if task not in TASKS:
        raise ArgumentError(f"task={task!r} is not one of {', '.join(map(repr, TASKS))}.")
    if task == "tags":
        return list(sentences), 0
    check_entity_tags(sentences, name)
    repaired = 0 if _is_iob1(sentences) else sum(inconsistencies(sentence.tags) for sentence in sentences)
    return [Tagged(s.tokens, convert_tags(s.tags, "bioes"), s.document) for s in sentences], repaired


def inconsistencies(tags: Sequence[str]) -> int:
    """Count the tags I- and E- that do not continue an entity of their kind."""
    count, before = 0, "O"
    for tag in tags:
        prefix, _, kind = tag.partition("-")
        count += prefix in "IE" and (before[0] not in "BI" or before[2:] != kind)
        before = tag
    return count


def _is_iob1(sentences: Sequence[Tagged]) -> bool:
    """Tell whether B- occurs only where an entity follows another of its kind, as in IOB1."""
    for sentence in sentences:
        for before, tag in zip(("O", *sentence.tags), sentence.tags, strict=False):
            if tag[0] == "S" or tag[0] == "E" or (tag[0] == "B" and before[2:] != tag[2:]):
                return False
    return True


@dataclass(frozen=True, eq=False)
class TagSet:
    """The tags of a tagger, in the order of the network's classes."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Tagged]) -> TagSet:
        """Return the tags of sentences; fewer than two are an error."""
        counts = Counter(tag for sentence in sentences for tag in sentence.tags)
        if len(counts) < 2:
            raise ArgumentError(
                f"the training sentences have one tag only, {next(iter(counts))!r}; a tagger needs two at least. Check "
                f"the column."
            )
        return cls(tuple(sorted(counts)))

    def check(self, sentences: Sequence[Tagged], name: str) -> Counter[str]:
        """Return how often tags occur that are not in this set; raise an error if most tokens have such tags."""
        counts = Counter(tag for sentence in sentences for tag in sentence.tags)
        unseen = Counter({tag: count for tag, count in counts.items() if tag not in set(self.names)})
        if 2 * unseen.total() > counts.total():
            raise ArgumentError(
                f"{name}: {unseen.total():,} of {counts.total():,} tokens have tags that training had not "
                f"({', '.join(tag for tag, _ in unseen.most_common(3))}; it had {', '.join(self.names[:8])}, ...). The "
                f"file has another tag set, or the tags are in another column."
            )
        return unseen

    def numbers(self, sentences: Sequence[Tagged]) -> NDArray[np.int64]:
        """Return the number of every token's tag, −1 for one that the tagger does not have."""
        known = {name: number for number, name in enumerate(self.names)}
        return np.array([known.get(tag, -1) for sentence in sentences for tag in sentence.tags], np.int64)

    def forbidden(self, task: Task) -> NDArray[np.bool_]:
        """Return which tags may not follow which, (K, K): what BIOES rules out; nothing for other tags."""
        K = len(self.names)
        if task == "tags":
            return np.zeros((K, K), bool)
        return np.array([[not _follows(before, after) for after in self.names] for before in self.names])


def _follows(before: str, after: str) -> bool:
    inside = before[0] in "BI"
    return after[0] in "IE" and after[2:] == before[2:] if inside else after[0] in "BSO"


def documents_of(sentences: Sequence[Tagged]) -> list[list[tuple[str, ...]]]:
    """Return the tokens of sentences by document; a sentence without one is by itself."""
    numbered = enumerate(sentences)
    groups = groupby(numbered, key=lambda pair: ("of", pair[1].document) if pair[1].document is not None else pair[0])
    return [[sentence.tokens for _, sentence in group] for _, group in groups]


def set_aside(sentences: Sequence[Tagged], seed: int) -> tuple[list[Tagged], list[Tagged]]:
    """Return nine tenths to learn from and a tenth to choose on; a single sentence is both.

    Documents stay whole where there are ten or more of them.
    """
    documents = [list(group) for group in by_document(sentences)]
    if len(documents) < _FEWEST_DOCUMENTS:
        documents = [[sentence] for sentence in sentences]
    if len(documents) < 2:
        return list(sentences), list(sentences)
    order = np.random.default_rng([seed, 1]).permutation(len(documents))
    held = set(order[: max(1, len(documents) // 10)].tolist())
    kept = [s for number, group in enumerate(documents) if number not in held for s in group]
    return kept, [s for number, group in enumerate(documents) if number in held for s in group]


def by_document(sentences: Sequence[Tagged]) -> list[list[Tagged]]:
    """Return sentences by document; a sentence without one is by itself."""
    lengths = [len(document) for document in documents_of(sentences)]
    ends = np.cumsum([0, *lengths]).tolist()
    return [cast(list[Tagged], list(sentences[a:b])) for a, b in pairwise(ends)]
