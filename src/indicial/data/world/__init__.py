"""The built-in worlds: texts whose entropy is known exactly, made by the project itself.

from indicial.data.world import world, worlds
worlds()                              →  ["people", "village"]
next(world("people").sentences(34))   →  "Carmen Jordan , who likes plums , has a house in Kalmar ."
"""

from indicial.data.world.world import Sentence, World, world, worlds

__all__ = ["Sentence", "World", "world", "worlds"]
