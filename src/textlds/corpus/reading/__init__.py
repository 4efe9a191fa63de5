"""Text from files, tables, URLs and iterables."""
