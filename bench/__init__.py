"""The speed comparison: `make bench` measures Indicial beside its peers, in one run.

Not part of the package. It has an environment of its own (`.venv-bench`), because the peers are
large and nothing else needs them.
"""
