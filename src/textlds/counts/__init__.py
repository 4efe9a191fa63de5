"""Exact counts of words at each distance, and the one-pass counter that makes them."""

from textlds.counts.algebra import Pruned, combine
from textlds.counts.counting import count_corpus, count_to_folder
from textlds.counts.lagcounts import LagCounts

__all__ = ["LagCounts", "Pruned", "combine", "count_corpus", "count_to_folder"]
