"""``textlds evaluate tagging | ner | similarity | perplexity``: what a model is worth on data of your own.

A group of commands, each a file as the others are.
"""

from __future__ import annotations

ABOUT = "Measure the quality of a model's vectors on your own data."
COMMANDS = ("tagging", "ner", "similarity", "perplexity")
