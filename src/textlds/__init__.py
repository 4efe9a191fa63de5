"""Contextual word-token vectors at the speed of static ones: a linear dynamical system for text."""
