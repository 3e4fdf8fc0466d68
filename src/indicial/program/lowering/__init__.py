"""Expressions become code: sums appear, places and sizes are settled."""
