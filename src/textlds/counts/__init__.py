"""Exact counts of words at each distance, and the one-pass counter that makes them."""

from textlds.counts.algebra import Pruned, combine, combine_to_folder
from textlds.counts.counting import count_corpus, count_to_folder
from textlds.counts.lagcounts import LagCounts

__all__ = ["LagCounts", "Pruned", "combine", "combine_to_folder", "count_corpus", "count_to_folder"]
