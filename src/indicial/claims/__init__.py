"""Claims: what a text says should hold, tried on draws and at corner sizes."""
