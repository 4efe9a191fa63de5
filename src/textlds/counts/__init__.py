"""Lagged co-occurrence counts: the only thing learning ever sees of a corpus."""
