"""``textlds tagger train | tag | evaluate``: taggers of your own, from labels of yours.

A group of commands, each a file as the others are.
"""

from __future__ import annotations

ABOUT = "Train a tagger on your own labels, use it, and measure it."
COMMANDS = ("train", "tag", "evaluate")
