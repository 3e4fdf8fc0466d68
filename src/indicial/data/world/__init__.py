"""The built-in worlds: texts whose entropy is known exactly, made by the project itself.

from indicial.data.world import world, worlds
worlds()                              →  ["people", "village"]
next(world("people").sentences(34))   →  "Carmen Jordan , who likes plums , has a house in Kalmar ."
"""

from functools import cache

from indicial.data.world.scenes import Scenes
from indicial.data.world.world import Phrasebook, Sentence, World, world, worlds

__all__ = ["Phrasebook", "Scenes", "Sentence", "World", "tables", "world", "world_table", "worlds"]


def tables() -> list[str]:
    """The names of the worlds that have several columns."""
    return [Phrasebook.name, Scenes.name]


@cache
def world_table(name: str) -> Phrasebook | Scenes:
    """A world with several columns, by its name."""
    return Phrasebook(world("people")) if name == Phrasebook.name else Scenes()
