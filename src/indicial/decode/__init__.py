"""Text from a model.

>>> from indicial import generate
>>> print(*generate("runs/people", "Anna", temperature=0.8, seed=1))
"""
