"""The attacks of ``python -m benchmarks.soak``: each a function from a seed to what went wrong."""
