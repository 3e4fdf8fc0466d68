"""Tables of columns: what programs with several inputs are trained on."""
