"""``textlds models``: the models that installed packages offer."""

from __future__ import annotations

from typing import Any

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table, say


def list_models() -> list[dict[str, Any]]:
    """Return what is known of each installed model without reading its tables."""
    from textlds.corpus.unknown import unknown_classes
    from textlds.errors import TextLDSError
    from textlds.model.installed import installed_models
    from textlds.storage.folders import CONFIG, read_json

    found = []
    for model in installed_models():
        row: dict[str, Any] = {"name": model.name, "package": model.package, "version": model.version}
        try:
            folder = model.folder()
            config = read_json(folder / CONFIG)
            size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
            row |= {"folder": str(folder), "bytes": size}
            row |= {"state_size": config["state_size"]}
            row |= {"words": config["vocabulary_size"] - len(unknown_classes(config["text"]["unknown"]))}
        except (TextLDSError, OSError, AttributeError) as error:
            row["error"] = str(error)
        except (KeyError, TypeError):
            row["error"] = f"the {CONFIG} of {folder} is not that of a model"
        found.append(row)
    return found


def command(as_json: opt.Json = False, quiet: opt.Quiet = False) -> None:
    """List installed models. Their names can be used wherever a model folder is expected."""
    models = list_models()
    if as_json:
        print_json({"models": models})
        return
    if models:
        rows = [
            [
                model["name"],
                f"{model['package']} {model['version']}",
                model.get("error") or f"{model['words']:,} words, {model['state_size']} dimensions",
                f"{model['bytes'] / 1e6:.1f}" if "bytes" in model else "",
            ]
            for model in models
        ]
        print_table(("name", "package", "what it is", "MB"), rows, right=(3,))
    if not models:
        say("No package with a model is installed. English: pip install 'textlds[en]'", quiet=quiet)


EXAMPLES = ("textlds models", ("textlds similar en bank", "use an installed model by its name"))
