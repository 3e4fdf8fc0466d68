"""What the compiler stands on: a cache that only its user can write to, texts of values, PyTorch inside."""
