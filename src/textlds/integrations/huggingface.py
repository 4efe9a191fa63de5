"""The Hugging Face Hub: models to it, with a card, and from it.

A repository holds the files of a model folder and a card. Only the former are fetched: config.json, and the JSON and
safetensors files it lists, which are checked against its sums as in any model folder. Nothing in a repository is ever
executed.

Uploading is one commit, so a repository has the old model or the new one, never half of one.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textlds._version import __version__
from textlds.errors import ArgumentError, HubError, MissingExtraError, TextLDSError
from textlds.integrations.card import CARD, model_card, with_new_facts
from textlds.storage.folders import CONFIG, read_json

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS

_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_FETCHED = re.compile(r"[\w-]+\.(json|safetensors)")
# Libraries that speak to the Hub, whose errors become ours; they raise these builtin ones too. What remains, such as
# the OSError of a full disk, says by itself what is wrong.
_FOREIGN = ("huggingface_hub", "httpx", "httpx2", "requests", "hf_xet")
_BUILTIN = (RuntimeError, ValueError, ConnectionError, TimeoutError)


def model_folder(name: str | os.PathLike[str], *, revision: str | None = None, token: str | None = None) -> Path:
    """Return the folder of a model: the one of this name, or else a copy of what the Hub has under it.

    Args:
        name: A folder, or ``"user/name"``.
        revision: A branch, tag or commit on the Hub.
        token: For private models.
    """
    if not isinstance(name, str | os.PathLike):
        raise ArgumentError(f"a model's name is a path or 'user/name', not {type(name).__name__}.")
    path = Path(name)
    if path.exists():
        if revision is not None:
            raise ArgumentError(f"revision={revision!r} is for models on the Hub, but {path} is a folder here.")
        return path
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(
            f"there is no folder {os.fspath(name)!r}, and on the Hub a model has a name of the form 'user/name'."
        )
    hub = _client()
    options = {"token": token, "library_name": "textlds", "library_version": __version__}
    with _explained(name, revision):
        folder = Path(hub.snapshot_download(name, revision=revision, allow_patterns=[CONFIG], **options))
        listed = _listed(folder)
        if listed:  # of the very commit that the list is from, which gave the folder its name
            hub.snapshot_download(name, revision=folder.name, allow_patterns=[CONFIG, *listed], **options)
    return folder


def _listed(folder: Path) -> list[str]:
    """Return the files that config.json lists, as far as they can be those of a model; checking them is for later."""
    content = read_json(folder / CONFIG)
    files = content.get("files") if isinstance(content, dict) else None
    return [name for name in files if _FETCHED.fullmatch(name)] if isinstance(files, dict) else []


def push_model(
    model: TextLDS,
    name: str,
    *,
    private: bool = False,
    license: str | None = None,
    revision: str | None = None,
    message: str = "Upload a textlds model",
    token: str | None = None,
) -> str:
    """Upload a model with its card in one commit, and return the address of its page.

    A card that is there already is kept, apart from the facts between its two markers. The arguments are those of
    :meth:`textlds.TextLDS.push_to_hub`.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(f"name={name!r:.100}: on the Hub a model has a name of the form 'user/name'.")
    hub = _client()
    with tempfile.TemporaryDirectory() as scratch, _explained(name, revision):
        folder = Path(scratch) / "model"
        model.save(folder)
        api = hub.HfApi(token=token, library_name="textlds", library_version=__version__)
        page = api.create_repo(name, private=private, exist_ok=True)
        if revision is not None:
            api.create_branch(name, branch=revision, exist_ok=True)
        card = _card_there(api, name, revision)
        new = model_card(model, name, license=license) if card is None else with_new_facts(card, model)
        (folder / CARD).write_text(new, encoding="utf-8")
        files = [hub.CommitOperationAdd(file.name, file) for file in sorted(folder.iterdir())]
        api.create_commit(name, files, commit_message=message, revision=revision)
    return str(page)


def _card_there(api: Any, name: str, revision: str | None) -> str | None:
    """Return the card of a repository, or None if it has none."""
    if not api.file_exists(name, CARD, revision=revision):
        return None
    return Path(api.hf_hub_download(name, CARD, revision=revision)).read_text(encoding="utf-8")


@contextlib.contextmanager
def _explained(name: str, revision: str | None) -> Iterator[None]:
    """Turn an error of the client, or of the libraries below it, into one that says what to do."""
    try:
        yield
    except Exception as error:
        foreign = type(error).__module__.partition(".")[0] in _FOREIGN
        if isinstance(error, TextLDSError) or not (foreign or isinstance(error, _BUILTIN)):
            raise
        raise HubError(_diagnosis(error, name, revision)) from error


def _diagnosis(error: Exception, name: str, revision: str | None) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(getattr(error, "response", None), "status_code", None)
    if "RevisionNotFoundError" in kinds:
        return f"the Hub has {name}, but no revision {revision!r} of it."
    if "GatedRepoError" in kinds:
        return f"{name} is gated: ask for access on its page on the Hub, and log in (hf auth login, or token=...)."
    if "RepositoryNotFoundError" in kinds:
        return f"the Hub has no model {name}, or it is private: log in (hf auth login, or token=...)."
    if status in (401, 403):
        return f"the Hub does not let you do this with {name}: log in with a token that may (hf auth login, token=...)."
    if "LocalEntryNotFoundError" in kinds:
        return f"the Hub cannot be reached, and its cache on this machine has no copy of {name}. ({error})"
    return f"the request to the Hub about {name} failed; nothing was changed. ({error})"


def _client() -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtraError("the Hugging Face Hub", "huggingface") from error
    return huggingface_hub
