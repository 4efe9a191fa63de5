"""The compiled tokeniser."""
