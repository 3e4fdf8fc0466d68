"""Plan → readable PyTorch."""
