"""Vector style, rewritten as index notation."""
