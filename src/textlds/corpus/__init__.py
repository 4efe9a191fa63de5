"""From files to token ids: reading, tokenising, the vocabulary."""
