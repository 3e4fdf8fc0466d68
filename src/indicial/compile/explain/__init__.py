"""Equations that a pass made, as one would write them on a blackboard."""
