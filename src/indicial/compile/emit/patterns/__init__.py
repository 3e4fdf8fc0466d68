"""Library calls: what in a text is a call that PyTorch has, one file for each."""
