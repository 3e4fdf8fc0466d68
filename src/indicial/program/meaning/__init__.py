"""The oracle: what a program means, element by element."""
