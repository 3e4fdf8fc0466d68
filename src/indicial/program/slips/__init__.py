"""Displays as they are written → the slips that show in them, read or not."""
