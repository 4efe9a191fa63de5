"""From posterior means to the vectors of tokens and words."""
