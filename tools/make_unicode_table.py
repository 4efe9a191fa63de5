"""Write src/textlds/corpus/tokens/unicode_classes.bin: the character classes of the tokeniser.

Run it with the newest Unicode data at hand (``pip install unicodedata2``); the table then holds for every Python.

    python tools/make_unicode_table.py
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from textlds.corpus.tokens import characters as c

try:
    import unicodedata2 as unicodedata
except ImportError:
    import unicodedata

TARGET = Path(c.__file__).with_name("unicode_classes.bin")

BY_CATEGORY = {
    "Ll": c.LOWER, "Lu": c.UPPER, "Lt": c.UPPER, "Lo": c.LETTER, "Lm": c.LETTER, "Nl": c.LETTER, "No": c.LETTER,
    "Nd": c.DIGIT, "Mn": c.MARK, "Mc": c.MARK, "Me": c.MARK, "Cf": c.IGNORED,
    "Zs": c.SPACE, "Zl": c.SPACE, "Zp": c.SPACE, "Cc": c.SPACE, "Pe": c.CLOSER, "Pf": c.CLOSER, "Pi": c.QUOTE,
}  # fmt: skip

IDEOGRAPHS = [
    (0x3005, 0x3005), (0x3007, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x17000, 0x18CFF), (0x18D00, 0x18DFF), (0x1B170, 0x1B2FF), (0x20000, 0x3FFFD),
]  # fmt: skip

SPECIAL = {
    c.NEWLINE: "\n",
    c.SPACE: "\u200b",
    c.JOINER: "\u200c\u200d",
    c.PERIOD: ".",
    c.HYPHEN: "-\u2010\u2011",
    c.APOSTROPHE: "'\u2019",
    c.COMMA: ",:/\u066b\u066c",
    c.INNER: "\u00b7\u2027\u05f3\u05f4",
    c.TERMINAL: "!?\u2026\u203c\u203d\u2047\u2048\u2049\u061f\u06d4\u055c\u055e\u0589\u1362\u1367\u1368",
    c.WIDE_TERMINAL: "\u3002\uff01\uff1f\uff61\uff0e\u0964\u0965\u104b",
    c.QUOTE: '"`',
    c.MODIFIER: "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff",
}


def classes() -> np.ndarray:
    """Return the class of every code point."""
    table = np.zeros(c.CODE_POINTS, np.uint8)
    for code in range(c.CODE_POINTS):
        table[code] = BY_CATEGORY.get(unicodedata.category(chr(code)), c.SYMBOL)
    for first, last in IDEOGRAPHS:
        table[first : last + 1] = c.IDEOGRAPH
    table[0x1F1E6 : 0x1F1FF + 1] = c.REGIONAL
    table[0xE0020 : 0xE007F + 1] = c.MARK  # tags: they spell the flags of regions after a black flag
    for kind, text in SPECIAL.items():
        for character in text:
            table[ord(character)] = kind
    return table


def main() -> None:
    """Write the table."""
    blocks, index = np.unique(classes().reshape(-1, 1 << c.BLOCK_BITS), axis=0, return_inverse=True)
    if len(blocks) > 256:
        raise SystemExit(f"{len(blocks)} distinct blocks do not fit an 8-bit index; raise BLOCK_BITS")
    body = index.astype(np.uint8).tobytes() + blocks.tobytes()
    TARGET.write_bytes(unicodedata.unidata_version.encode() + b"\n" + zlib.compress(body, 9))
    print(f"Unicode {unicodedata.unidata_version}: {len(blocks)} blocks, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
