"""Text from a model.

>>> from indicial.decode import generate
>>> print(*generate("runs/people", "Anna", temperature=0.8, seed=1))
"""

from indicial.decode.text import Text, generate

__all__ = ["Text", "generate"]
