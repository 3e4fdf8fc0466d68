"""Code → plan: in which order, and what is walked step by step."""
