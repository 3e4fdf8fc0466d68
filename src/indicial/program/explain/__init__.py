"""How a program was read, for people and for programs."""
