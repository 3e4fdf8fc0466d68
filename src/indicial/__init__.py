"""Indicial: index notation that runs."""

__version__ = "0.1.0"
