"""The card of a model: what it is, how it was learnt, how to use it, where it ends. Written from its own history.

A card is Markdown with a YAML header. The facts are between two markers, so that a new model renews them and leaves
alone what its author wrote around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS

CARD = "README.md"
BEGIN, END = "<!-- facts of the model -->", "<!-- end of the facts -->"
_SHOWN_WORDS = 20
_FORGOTTEN = 0.1  # what is left of the filter's past, at most, after as many tokens as the card says it remembers

_HEADER = """---
library_name: textlds
pipeline_tag: feature-extraction
{license}tags:
- textlds
- token-embeddings
- word-embeddings
- linear-dynamical-system
---

# {title}

A vector for every word of a text, in its context: a linear dynamical system (a Kalman filter over words), learnt from
counts with textlds.

"""

_USE = """
## Use

```bash
pip install 'textlds[huggingface]'
```

```python
from textlds import TextLDS

model = TextLDS.from_pretrained("{name}"){tokenizer}
text = model({text})
print(text.tokens, text.vectors.shape)
```

## Limits

- The model is linear, and forgets what is some tens of words away.
- It knows what the text it was counted from says, with the slant of that text. Words outside its vocabulary are known
  {unknown}.
- The likelihood is that of a Gaussian, in nats per token over a model that knows word frequencies only. It serves to
  compare models of the same counts, and is no probability of a text.
"""


def model_card(model: TextLDS, name: str, *, license: str | None = None) -> str:
    """Return the card of a model as Markdown.

    Args:
        model: The model.
        name: ``"user/name"``, for the lines that show its use.
        license: An identifier for the header; without one the card names none.
    """
    settings = model.vocabulary.settings
    header = _HEADER.format(
        license=f"license: {license}\n" if license else "",
        title=name.rpartition("/")[2],
    )
    custom = settings.tokenizer == "custom"
    use = _USE.format(
        name=name,
        # code is never stored with a model, so lists of tokens are what works as it is
        tokenizer="  # tokenizer=...: it was trained with one of its own" if custom else "",
        text='["The", "bank", "raised", "rates"]' if custom else '"The bank raised rates."',
        unknown=("by their shape only" if settings.unknown == "shape" else "as one and the same") + _spelled(model),
    )
    return header + facts(model) + use


def _spelled(model: TextLDS) -> str:
    if model.lexicon is None:
        return ""
    exception = ", except in the recipe `paper`" if model.observations == "words" else ""
    return f"; their vectors come from their spelling{exception}"


def with_new_facts(card: str, model: TextLDS) -> str:
    """Return a card with the facts of this model; one without the markers is returned as it is."""
    before, begin, rest = card.partition(BEGIN)
    _, end, after = rest.partition(END)
    return before + facts(model).rstrip("\n") + after if begin and end else card


def facts(model: TextLDS) -> str:
    """Return the facts of a model between their markers."""
    rows = [f"| {name} | {value} |" for name, value in _rows(model)]
    words = " ".join(_code(word) for word in model.vocabulary.words[: min(_SHOWN_WORDS, model.vocabulary.n_types)])
    return "\n".join(
        [BEGIN, "", "| | |", "|---|---|", *rows, "", f"Its most frequent words: {words}", "", END, ""],
    )


def _rows(model: TextLDS) -> list[tuple[str, str]]:
    history, text = model.history, model.vocabulary.settings
    settings = history.settings
    rows: list[tuple[str, Any]] = [
        ("tokens counted", settings.get("tokens")),
        ("vocabulary", f"{model.vocabulary.n_types:,} words and {_classes(model)}"),
        ("length of a vector", model.state_size),
        ("length of a vector of meaning", model.meaning_size or None),
        ("observes", {"profiles": "profiles of words", "words": "one-hot words"}[model.observations]),
        ("EM iterations", history.iterations),
        ("log-likelihood, nats per token", _likelihood(model)),
        ("noise, start", ", ".join(str(settings[key]) for key in ("noise", "start") if key in settings) or None),
        ("pseudocount", settings.get("pseudocount_used")),
        ("seed", settings.get("seed")),
        ("tokeniser, digits", f"{text.tokenizer}, {text.digits}"),
        (
            "contexts end at",
            text.boundaries + (f", marked {_code(text.boundary_token)}" if text.boundary_token else ""),
        ),
        ("memory, tokens", model.spaces.engine("float32").system.memory(_FORGOTTEN)),
        ("written by", f"textlds {settings['textlds_version']}" if "textlds_version" in settings else None),
    ]
    return [(name, _shown(value)) for name, value in rows if value is not None]


def _classes(model: TextLDS) -> str:
    n = len(model.vocabulary) - model.vocabulary.n_types
    return f"{n} classes of unknown words" if n > 1 else "one class of unknown words"


def _likelihood(model: TextLDS) -> str | None:
    history = model.history
    if not history.log_likelihood:
        return None if history.start is None else f"{history.start:.3f}"
    last = f"{history.log_likelihood[-1]:.3f}"
    return last if history.start is None else f"{last} ({history.start:.3f} before EM)"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _code(word: str) -> str:
    """Return a word as Markdown code that no table or backtick in it breaks."""
    fence = "``" if "`" in word else "`"
    pad = " " if "`" in word else ""
    return f"{fence}{pad}{word}{pad}{fence}".replace("|", "\\|")
