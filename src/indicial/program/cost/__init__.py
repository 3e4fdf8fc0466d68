"""What a program costs, as formulas in its sizes."""
