"""A model on the Hugging Face Hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS


class Shared:
    """The methods of a :class:`~textlds.model.textlds.TextLDS` that hand it on."""

    if TYPE_CHECKING:

        @classmethod
        def load(cls, path: str | os.PathLike[str], *, tokenizer: Callable[[str], Sequence[str]] | None = None) -> Self:
            """Read a model from a folder."""

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool = False,
        license: str | None = None,
        revision: str | None = None,
        message: str = "Upload a textlds model",
        token: str | None = None,
    ) -> str:
        """Upload the model to the Hugging Face Hub in one commit, with a card from its history; return its address.

        Args:
            name: ``"user/name"``. The repository is made if there is none.
            private: Whether a new repository is private.
            license: An identifier for the card, such as ``"cc-by-sa-4.0"``; say what the text you trained on allows.
            revision: Branch to write to, made if there is none; the main one by default.
            message: Of the commit.
            token: For writing; by default that of ``hf auth login`` or of the variable HF_TOKEN.
        """
        from textlds.integrations.huggingface import push_model

        model = cast("TextLDS", self)
        return push_model(
            model, name, private=private, license=license, revision=revision, message=message, token=token
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        revision: str | None = None,
        token: str | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
    ) -> Self:
        """Read a model from a folder, or from the Hugging Face Hub; what was fetched before is taken from its cache.

        Args:
            name: A folder, or ``"user/name"``.
            revision: A branch, tag or commit on the Hub.
            token: For private models; by default that of ``hf auth login`` or of the variable HF_TOKEN.
            tokenizer: As for :meth:`load`.
        """
        from textlds.integrations.huggingface import model_folder

        return cls.load(model_folder(name, revision=revision, token=token), tokenizer=tokenizer)
