"""Code → one step of it: states, caches and windows, derived from what each equation reads."""
