"""Program → module: schedule, rewrites, PyTorch source, native kernels, the incremental step."""
