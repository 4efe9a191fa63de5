"""An extension of griffe: docstrings name code as ``:class:`TextLDS```, which Markdown shows as it is."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`~?([^`]+)`")


class PlainRoles(griffe.Extension):
    """Leaves the name, as code."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of an object when it was read."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub(r"`\1`", obj.docstring.value)
