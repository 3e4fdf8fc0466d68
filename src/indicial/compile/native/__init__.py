"""Plan → C for the processor, compiled, cached and registered as PyTorch operators."""
