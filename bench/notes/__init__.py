"""How well real notes are read: displays drawn at random, labelled by people, and scored."""
