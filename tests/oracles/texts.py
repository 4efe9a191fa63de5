"""Text that looks like text, in many scripts, made by the tests; and Hypothesis strategies for worse."""

from __future__ import annotations

import random

from hypothesis import strategies as st

PARAGRAPHS = [
    "Mr. Smith can't say why the U.S.-based firm (est. 1990) paid $3,000.50 for it... Dr. J. R. O'Brien didn't either!",
    "He said: \"It's 9:30 a.m. already.\" Then they'd gone; she'll come—if ever. Isn't that so? \"Yes,\" I replied.",
    "The dogs' owners, e.g. Ann and I'd've liked rock'n'roll, well-known half-truths, and/or 1/2 of 10,5 pies etc.",
    "‘Curly’ quotes: don’t, it’s, “nested ‘ones’ here.” Mind the co\u00adop\u00aderation; visit example.com.",
    "Ο Σωκράτης δεν έγραψε τίποτα· όμως ο Πλάτων, το 399 π.Χ., έγραψε πολλά. Γιατί; Άγνωστο.",
    "Москва — столица России. В 1147 году её впервые упомянули; кто-то сказал: «Приезжай!» И он приехал.",
    "كتب الطالب ١٢٣ درساً، ثم سأل: لماذا؟ قال المعلم: «لأن العلم نور». می\u200cخواهم بروم ۔ آری",
    'בשנת 1948 אמר דוד: "צה״ל הוקם". מה זה? ג׳ירפה גדולה, ועוד ש״ח ב־50.',
    "हिन्दी भारत की भाषा है। क्या आप १२ भाषाएँ जानते हैं? हाँ, मैं जानता हूँ।",
    "Café naïve fa\u00e7ade, A\u0303ngstro\u0308m, Łódź; el paral·lel d'en Joan. ¿Qué tal? ¡Bien! «Voilà», dit-il.",
    "中文没有空格。他说：“你好！”然后走了。日本語も同じだ。한국어는 띄어 씁니다. Ok",
    "Emoji 👩‍👩‍👧 and 👍🏽, flags 🇩🇪🇫🇷, hearts ❤️ and keycaps 1️⃣; m² ½ Ⅷ №5 100% #tag @user a_b x=y <b> C++ ~",
    "``Quotes'' of treebanks , the company 's shares do n't rise -- they said ... . . . -LRB- -RRB-",
    "Hidden\u200bspaces\u00a0and\u2003tabs\tand\x00nulls\rand\x1fseparators\x85everywhere\u2028here.",
    "end.The next.Ph.D. holders of Ph.D.s met B.Sc. and M.A. people at p.m.Then www.x.org. No. 5 v. 6 c. 1900.",
    "",
    "   ",
]


def sample_text(seed: int, n_lines: int = 200) -> str:
    """Lines with the paragraphs' words and marks in their usual places, and sometimes not."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n_lines):
        line = rng.choice(PARAGRAPHS)
        if rng.random() < 0.5:
            words = line.split(" ") + rng.choice(PARAGRAPHS).split(" ")
            rng.shuffle(words)
            line = " ".join(words)
        if rng.random() < 0.3 and line:
            cut = rng.randrange(len(line))
            line = line[cut:] + line[:cut]
        lines.append(line)
    return "\n".join(lines) + "\n"


_PIECES = [
    *"nNtTsSdDmMlLvVeErRaAbZ19.,:/-'’!?…)\"”“`«»#@&_ \t\n",
    *"éÉß中をع٣٫؟ש״׳हि।½²Ⅷǅ。！·‐–—👍👩🏽🇩🇪❤\u0301\u200d\u200c\u00ad\ufeff\u200b\u00a0\u2028\x85\x00\r\x1f\ufe0f",
    *["U.S", "n't", "'s", "'ve", "'ll", "Mr", "etc", "c", "can", "end.The", "...", "--", "''", "Sept.", "\n\n"],
]

messy_text = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=60).map("".join),
    st.text(max_size=60),
)
words = st.one_of(
    st.text(min_size=1, max_size=12), st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
)
