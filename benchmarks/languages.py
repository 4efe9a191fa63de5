"""How the tokeniser, the unknown classes and the recipes do on the languages that a machine has texts in.

    python -m benchmarks.languages [--languages cs de el ...] [--folders /usr/share/locale ...] [--results FOLDER]

The texts are the translated messages of installed programs (gettext catalogues): short, technical, a few tens of
thousands of tokens per language. Nine tenths are learnt from and one tenth is read: how many of its tokens are unknown,
how many distinct vectors these have, and what is near the most frequent word of four letters or more. It says what to
expect, not how good a model is. Writes languages.json and languages.md; languages that are there already are kept.
"""

from __future__ import annotations

import argparse
import gettext
import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import textlds
from benchmarks.texts import markdown_table
from textlds.errors import TextLDSError

LANGUAGES = {
    "ar": "Arabic", "bn": "Bengali", "cs": "Czech", "de": "German", "el": "Greek", "es": "Spanish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "ja": "Japanese", "ka": "Georgian", "ko": "Korean", "pl": "Polish", "ru": "Russian",
    "sr": "Serbian", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh_CN": "Chinese",
}  # fmt: skip
FOLDERS = ("/usr/share/locale", "/usr/share/locale-langpack")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=list(LANGUAGES))
    parser.add_argument("--folders", nargs="+", type=Path, default=[Path(folder) for folder in FOLDERS])
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    stored = arguments.results / "languages.json" if arguments.results else None
    results = json.loads(stored.read_text(encoding="utf-8")) if stored is not None and stored.exists() else {}
    for language in arguments.languages:
        messages = sorted(translated(arguments.folders, language))
        if len(messages) < 200:
            print(f"{language}: {len(messages)} messages are too few")
            continue
        results[language] = found = tried(messages)
        print(f"{language}: {json.dumps(found, ensure_ascii=False)}")
    if stored is not None:
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (arguments.results / "languages.md").write_text("\n".join(report(results)), encoding="utf-8")


def report(results: dict[str, Any]) -> list[str]:
    """Return languages.md."""
    columns = ("tokens", "characters per token", "unknown, per cent", "distinct vectors of unknown words, per cent")
    rows = []
    for language, row in results.items():
        cells = [f"{row[name]:,}" if name in row else "" for name in columns]
        word, *near = row.get("near", [row.get("error", "")])
        rows.append([LANGUAGES.get(language, language), row["script"], *cells, word, " ".join(near)])
    scripts = {row["script"] for row in results.values()}
    return [
        "# Other languages", "",
        f"By `python -m benchmarks.languages`: {len(results)} languages in {len(scripts)} scripts. The texts are the "
        "translated messages of installed programs, nine tenths to learn from (state size 20) and one tenth to read. "
        "So little text, all of it about computers, says how the tokeniser and unknown words do, and whether similar "
        "words come out at all; it does not say how good a model of more text is.", "",
        *markdown_table(["language", "script", *columns, "a frequent word", "similar to it"], rows),
    ]  # fmt: skip


def telling(word: str, script: str) -> bool:
    """Tell whether a word is of a script, and longer than most that say little."""
    return word.isalpha() and script_of([word]) == script and (len(word) > 3 or script == "Han")


def script_of(messages: list[str]) -> str:
    """Return the script of most letters, by the first word of their names in Unicode."""
    letters = Counter(character for text in messages[:2000] for character in text if character.isalpha())
    scripts: Counter[str] = Counter()
    for letter, n in letters.items():
        scripts[unicodedata.name(letter, "?").split()[0].split("-")[0]] += n
    return scripts.most_common(1)[0][0].capitalize().replace("Cjk", "Han")


def translated(folders: list[Path], language: str) -> set[str]:
    """Return the distinct messages of all catalogues of a language."""
    messages: set[str] = set()
    for catalogue in sorted(path for folder in folders for path in (folder / language).rglob("*.mo")):
        try:
            with catalogue.open("rb") as file:
                found = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        # the one without a key is the header; what equals its key is not translated, and a key may be one of a plural
        texts = [text for key, text in found.items() if key and text != (key[0] if isinstance(key, tuple) else key)]
        messages |= {" ".join(text.split()) for text in texts if isinstance(text, str) and len(text) > 20}
    return messages


def tried(messages: list[str]) -> dict[str, Any]:
    """Learn from nine tenths and read the rest."""
    held_out, learnt = messages[::10], [text for i, text in enumerate(messages) if i % 10]
    counts = textlds.count(texts=learnt)
    row: dict[str, Any] = {"script": script_of(learnt), "messages": len(messages), "tokens": int(counts.tokens)}
    row["characters per token"] = round(sum(map(len, learnt)) / counts.tokens, 2)
    try:
        model = textlds.fit(counts, state_size=20)
    except TextLDSError as error:
        return {**row, "error": str(error)}
    known = model.vocabulary.n_types
    ids = [token for text in model.encoder.encode_many(held_out) for token in text.ids.tolist()]
    row["unknown, per cent"] = round(100 * sum(token >= known for token in ids) / max(len(ids), 1), 1)
    unknown = {
        token for text in held_out for token in model(text).tokens if token not in model.vocabulary and token.isalpha()
    }
    vectors = {tuple(model(word, recipe="word").vectors[0].round(3).tolist()) for word in sorted(unknown)[:200]}
    row["distinct vectors of unknown words, per cent"] = round(100 * len(vectors) / max(min(len(unknown), 200), 1))
    common = next((word for word in model.vocabulary.words[:known] if telling(word, row["script"])), None)
    if common is not None:
        row["near"] = [common, *(word for word, _ in model.similar(common, n=4))]
    return row


if __name__ == "__main__":
    main()
