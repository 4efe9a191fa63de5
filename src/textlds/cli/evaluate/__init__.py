"""``textlds evaluate tagging | ner | similarity | perplexity``: what a model is worth on data of your own.

A group of commands, each a file as the others are.
"""

from __future__ import annotations

ABOUT = "Say what a model is worth on data of your own."
COMMANDS = ("tagging", "ner", "similarity", "perplexity")
