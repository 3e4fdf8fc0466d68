"""A trained module → files that run without Indicial: PyTorch, ONNX."""
