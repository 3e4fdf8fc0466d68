"""Code → Code: every pass keeps the meaning, so the oracle can run before and after it."""
