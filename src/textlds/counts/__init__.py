"""Exact counts of words at each distance, and the one-pass counter that makes them."""
