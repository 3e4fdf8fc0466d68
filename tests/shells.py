"""IPython's own shell, without a kernel: what cells of a notebook show."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


@contextmanager
def fresh_shell() -> Iterator[Any]:
    """A shell that has loaded the magic."""
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    with capture_output():
        result = made.run_cell("%load_ext indicial")
    assert result.success
    yield made
    InteractiveShell.clear_instance()


def shown(shell: Any, cell: str) -> list[dict[str, str]]:
    """What a cell displays: text by its kind."""
    with capture_output() as captured:
        assert shell.run_cell(cell).success
    return [output.data for output in captured.outputs]
