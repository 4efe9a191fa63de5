"""Folders and arrays on disk."""
