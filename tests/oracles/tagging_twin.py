"""Plain twins of the tagger's kernels: hashes of tokens, features, memory, chains by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np

from textlds.corpus.tokens.characters import DIGIT, IDEOGRAPH, IGNORED, LETTER, LOWER, MARK, UPPER, class_of

_OFFSET, _PRIME, _WORD = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def fnv(numbers):
    """Return FNV-1a of a list of numbers."""
    value = _OFFSET
    for number in numbers:
        value = ((value ^ number) * _PRIME) & _WORD
    return value


def lower(character):
    """Return the lower case of a character below U+0590."""
    small = character.lower()
    return small if ord(character) < 0x590 and len(small) == 1 else character


def base_of(token):
    """Return the base of a token as a dictionary."""
    kept = [c for c in token if class_of(c) != IGNORED]
    if _is_long(token):
        first, rest = [], list(token)
        while len(first) < 32:
            c = rest.pop(0)
            if class_of(c) != IGNORED:
                first.append(c)
        kept = first + [c for c in token[-32:] if class_of(c) != IGNORED]
    kept = kept[:64]
    zeroed = ["0" if class_of(c) == DIGIT else c for c in kept]
    small = [lower(c) for c in zeroed]
    marks = [_mark(c) for c in kept]
    codes = [ord(c) for c in small]
    runs = [list(group) for _, group in itertools.groupby(marks)]
    found = {
        "bytes": fnv(token.encode()),
        "form": fnv(map(ord, zeroed)),
        "lower": fnv(codes),
        "shape": fnv(map(ord, (mark for run in runs for mark in run[:2]))),
        "outline": fnv(map(ord, (run[0] for run in runs))),
    }
    for n in range(1, 5):
        found[f"prefix{n}"] = fnv(codes[:n]) if len(codes) >= n else 0
        found[f"suffix{n}"] = fnv(codes[::-1][:n]) if len(codes) >= n else 0
    return found


def _is_long(token):
    """Tell whether more than 128 bytes follow the first 32 characters that count."""
    count = 0
    for place, c in enumerate(token):
        count += class_of(c) != IGNORED
        if count == 32:
            return len(token[place + 1 :].encode()) > 128
    return False


def _mark(c):
    kind = class_of(c)
    if kind == DIGIT:
        return "0"
    return "X" if kind == UPPER else "x" if kind in (LOWER, LETTER, MARK, IDEOGRAPH) else c


def bucket(number, terms, buckets):
    """Return the bucket of feature ``number`` made of some 64-bit terms."""
    value = fnv([number])
    for term in terms:
        value = ((value ^ term) * 0x9E3779B97F4A7C15) & _WORD
        value ^= value >> 29
    value = (value * 0xBF58476D1CE4E5B9) & _WORD
    value ^= value >> 32
    return value % buckets


def features_of(sentence, templates, buckets):
    """Return the buckets of every token of a sentence, given as bases."""
    rows = []
    for i in range(len(sentence)):
        row = []
        for number, template in enumerate(templates):
            terms = []
            for column, place in template:
                at = i + place
                terms.append(1 if at < 0 else 2 if at >= len(sentence) else sentence[at][column])
            row.append(bucket(number, terms, buckets))
        rows.append(row)
    return rows


def means_of(keys, vectors, fading):
    """Return the fading mean of each token's earlier occurrences in one document."""
    held, rows = {}, []
    for key, vector in zip(keys, vectors, strict=True):
        before = held.get(key)
        rows.append(np.zeros_like(vector) if before is None else before)
        held[key] = vector if before is None else fading * before + (1 - fading) * vector
    return np.array(rows)


def beside_elsewhere(words):
    """Return the neighbours of each word's occurrence before and after in one document; 1 and 2 for its ends."""
    rows = []
    for i, word in enumerate(words):
        row = []
        for others in (range(i - 1, -1, -1), range(i + 1, len(words))):
            j = next((j for j in others if words[j] == word), None)
            row += [0, 0] if j is None else [words[j - 1] if j else 1, words[j + 1] if j + 1 < len(words) else 2]
        rows.append(row)
    return rows


def all_paths(scores, first, last, transitions):
    """Return every sequence of tags of one sentence with its score."""
    n, K = scores.shape
    for path in itertools.product(range(K), repeat=n):
        value = first[path[0]] + last[path[-1]] + sum(scores[t, y] for t, y in enumerate(path))
        value += sum(transitions[a, b] for a, b in itertools.pairwise(path))
        yield path, float(value)


def log_sum(values):
    """Return log Σ exp."""
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))
