"""Probabilities of words: from the state of the filter, and from counts, to a distribution of the next word."""
