"""The tokeniser again, as regular expressions and plain Python: slow, and readable next to the rules.

The patterns spell out the classes of characters from the same table as the kernel; nothing else is shared.
"""

from __future__ import annotations

import functools
import re

from textlds.corpus.settings import BOUNDARY, END, TextSettings
from textlds.corpus.tokens import characters as c
from textlds.corpus.tokens.scanning import ABBREVIATIONS


@functools.cache
def patterns() -> dict[str, re.Pattern[str]]:
    def cls(*kinds: int) -> str:
        return f"[{c.ranges(*kinds)}]"

    extend = cls(c.MARK, c.JOINER, c.IGNORED) + "*"
    letter = cls(c.LOWER, c.UPPER, c.LETTER)
    digit = cls(c.DIGIT)
    base = cls(c.LOWER, c.UPPER, c.LETTER, c.DIGIT)
    apostrophe, hyphen = cls(c.APOSTROPHE), cls(c.HYPHEN)
    lower, upper = cls(c.LOWER), cls(c.UPPER)

    word_goes_on = f"(?:{cls(*range(c.LOWER, c.IGNORED + 1))}|{hyphen}{base})"
    clitic = rf"{apostrophe}(?:[sS]|[rR][eE]|[vV][eE]|[lL][lL]|[dD]|[mM])(?!{word_goes_on})"
    not_clitic = rf"[nN]{apostrophe}[tT](?!{word_goes_on})"

    joining_period = rf"\.(?={letter})(?!(?<={lower}\.){upper}{lower})"
    inner_apostrophe = rf"(?!{clitic}){apostrophe}(?={base})"
    letter_unit = rf"{letter}{extend}(?:{joining_period}|{cls(c.INNER)}(?={letter})|{inner_apostrophe})?"
    digit_unit = rf"{digit}{extend}(?:(?:\.|{cls(c.COMMA)})(?={digit})|{inner_apostrophe})?"
    mark_unit = rf"{cls(c.MARK)}{extend}(?:{inner_apostrophe})?"
    unit = f"(?:{letter_unit}|{digit_unit}|{mark_unit})"

    final_period = rf"(?!{joining_period})\.(?!\.)"
    short = f"(?:{letter}{extend}){{1,2}}"
    dotted = f"{short}(?:{joining_period}{short})+{final_period}"
    initial = f"{upper}{extend}{final_period}"
    listed = f"(?:{'|'.join(sorted(ABBREVIATIONS, key=len, reverse=True))}){final_period}"
    part = f"(?:{dotted}|{initial}|{listed}|{unit}(?:(?!{not_clitic}){unit})*)"

    glued = cls(c.MARK, c.JOINER, c.IGNORED, c.MODIFIER)
    emoji = f"(?:{glued}|(?<={cls(c.JOINER)}){cls(c.SYMBOL)})*"
    regional = cls(c.REGIONAL)
    return {
        "skip": re.compile(cls(c.SPACE, c.JOINER, c.IGNORED)),
        "clitic": re.compile(clitic),
        "lone clitic": re.compile(f"{clitic}(?!{apostrophe})"),
        "word": re.compile(f"{part}(?:{hyphen}(?={base}){part})*"),
        "symbol": re.compile(rf"(?:\.+|-+|'+|`+|{regional}{regional}?|.){emoji}", re.DOTALL),
        "ignored": re.compile(cls(c.IGNORED)),
        "digits": re.compile(f"{digit}+"),
        "digit": re.compile(digit),
        "space": re.compile(f"{cls(c.SPACE)}+"),
    }


def normalise(token: str, settings: TextSettings) -> str:
    if settings.tokenizer == "words":
        token = patterns()["ignored"].sub("", token)
    if settings.digits == "num":
        return patterns()["digits"].sub("NUM", token)
    return patterns()["digit"].sub("0", token) if settings.digits == "zero" else token


def word_spans(line: str) -> list[tuple[int, int, bool]]:
    """Start, end and whether it is a word, of every token of a line."""
    find = patterns()
    spans: list[tuple[int, int, bool]] = []
    i = 0
    while i < len(line):
        if skipped := find["skip"].match(line, i):
            i = skipped.end()
            continue
        after_word = bool(spans) and spans[-1][1] == i and spans[-1][2]
        match = find["clitic" if after_word else "lone clitic"].match(line, i) or find["word"].match(line, i)
        is_word = match is not None or c.class_of(line[i]) == c.IDEOGRAPH
        match = match or find["symbol"].match(line, i)
        assert match is not None
        spans.append((i, match.end(), is_word))
        i = match.end()
    return spans


def spaced_spans(line: str) -> list[tuple[int, int, bool]]:
    spans = []
    for match in re.finditer(r"\S+", patterns()["space"].sub(lambda m: " " * len(m[0]), line)):
        token = line[match.start() : match.end()]
        kinds = {c.class_of(character) for character in token}
        is_word = len(kinds) > 1 or c.LOWER <= min(kinds) <= c.IDEOGRAPH
        is_word |= c.LOWER <= c.class_of(token[0]) <= c.IDEOGRAPH
        spans.append((match.start(), match.end(), is_word))
    return spans


def sentence_breaks(line: str, spans: list[tuple[int, int, bool]]) -> set[int]:
    """Indices of the tokens that begin a sentence, the first one not among them."""
    breaks = set()
    ended = spaced = False
    previous = 0
    for k, (start, end, is_word) in enumerate(spans):
        token, kind, glued = line[start:end], c.class_of(line[start]), previous == start
        previous = end
        if ended and not glued:
            spaced = True
        closes = not is_word and (
            kind in (c.CLOSER, c.PERIOD, c.TERMINAL, c.WIDE_TERMINAL)
            or token == "''"
            or (glued and kind in (c.QUOTE, c.APOSTROPHE))
        )
        if ended and not closes:
            if spaced and kind != c.LOWER:
                breaks.add(k)
            ended = spaced = False
        if not is_word and kind in (c.PERIOD, c.TERMINAL, c.WIDE_TERMINAL):
            ended = True
            spaced |= kind == c.WIDE_TERMINAL
    return breaks


def stream(text: str, settings: TextSettings) -> list[str | int]:
    """Tokens and BOUNDARY markers of a whole source, and END."""
    result: list[str | int] = []
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        spans = word_spans(line) if settings.tokenizer == "words" else spaced_spans(line)
        breaks = sentence_breaks(line, spans) if settings.boundaries == "sentence" else set()
        for k, (start, end, _) in enumerate(spans):
            if k in breaks:
                result.append(BOUNDARY)
            result.append(normalise(line[start:end], settings))
        if settings.boundaries == "document":
            if not spans:
                result.append(BOUNDARY)
        elif settings.boundaries != "none" and spans:
            result.append(BOUNDARY)
    return [*result, END]
