"""Source and kernels → a `torch.nn.Module` like any other."""
