"""The demonstration: a model of the documentation that is on every machine, trained and shown in about a minute."""

from __future__ import annotations

from textlds.demo.run import run_demo

__all__ = ["run_demo"]
