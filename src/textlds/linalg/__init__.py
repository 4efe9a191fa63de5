"""Linear algebra that knows nothing about text."""
