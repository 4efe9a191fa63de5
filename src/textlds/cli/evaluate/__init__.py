"""``textlds evaluate tagging | ner | similarity``: what a model's vectors are worth on labelled data.

A group of commands, each a file as the others are.
"""

from __future__ import annotations

ABOUT = "Say what a model's vectors are worth on your labelled data."
COMMANDS = ("tagging", "ner", "similarity")
