"""Which names a program has, and what each statement is."""
