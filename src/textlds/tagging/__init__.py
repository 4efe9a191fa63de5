"""Taggers: a network on token vectors and hashed lexical features, trained on labels of the user's."""
