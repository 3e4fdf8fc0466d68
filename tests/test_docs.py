"""README.md, docs/*.md and docs/problems/*.md are run: what they show is what happens.

All blocks of one document run top to bottom in one fresh folder:

``python``        executed; all python and pycon blocks of a document share one namespace
``pycon``         run as a doctest
``console``       each ``$ command`` is run and its output (stdout and stderr together) compared
                  with the lines below it; a line ``...`` stands for any lines. A command may fail
                  if some of what it says is shown, or its status by ``$ echo $?``. A line ending
                  in a backslash continues.
``anything file=NAME``  the block is written to NAME, for later commands to read

``no-run`` in the info string leaves a block alone. Other blocks are ignored.
"""

import difflib
import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from indicial.designs.hand import written_design
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[1]
PROBLEMS = sorted((ROOT / "docs" / "problems").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *PROBLEMS]

# Anything else in a console block (make, pip, git ...) must be marked no-run.
COMMANDS = {"indicial", "python", "cat", "echo", "printf"}

FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<info>[^`]*)$")


class SnippetError(Exception):
    """A snippet does not do what the document says."""


@dataclass
class Block:
    line: int  # of the first line inside the fence, from 1
    words: list[str]  # the info string
    text: str

    @property
    def kind(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def file(self) -> str | None:
        return next((word[5:] for word in self.words if word.startswith("file=")), None)


def blocks(text: str) -> Iterator[Block]:
    """The fenced code blocks of a Markdown text."""
    lines = enumerate(text.splitlines(), 1)
    for opened, line in lines:
        opening = FENCE.fullmatch(line)
        if not opening:
            continue
        fence, indent = opening["fence"], len(opening["indent"])
        content = []
        for _, inner in lines:
            stripped = inner.strip()
            if set(stripped) == {fence[0]} and len(stripped) >= len(fence):
                break
            content.append(inner[min(indent, len(inner) - len(inner.lstrip(" "))) :])
        else:
            raise SnippetError(f"line {opened}: the block is never closed")
        yield Block(opened + 1, opening["info"].split(), "".join(f"{c}\n" for c in content))


def run_document(text: str, name: str, folder: Path, commands: str = "") -> int:
    """Run all snippets of a document in `folder`, the current directory; return how many.

    Commands are looked for in the folder `commands` first.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for block in blocks(text):
        if "no-run" in block.words:
            continue
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            run_python(block, name, namespace)
        elif block.kind == "pycon":
            run_pycon(block, name, namespace)
        elif block.kind == "console":
            run_console(block, name, folder, commands)
        elif block.kind == "design":
            run_design(block, name, namespace)
        else:
            continue
        count += 1
    return count


def run_python(block: Block, name: str, namespace: dict[str, object]) -> None:
    # The empty lines give tracebacks the line numbers of the document.
    exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), namespace)


def run_design(block: Block, name: str, namespace: dict[str, object]) -> None:
    """As a cell `%%indicial design position` does: tried, and known by the name of its task."""
    made = written_design(block.text, *block.words[1:])
    if not made.check(block.words[1]).passed:
        raise SnippetError(f"{name}:{block.line}: {made.check(block.words[1])}")
    namespace[block.words[1]] = made


def run_pycon(block: Block, name: str, namespace: dict[str, object]) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_UDIFF
    test = doctest.DocTestParser().get_doctest(block.text, {}, name, name, block.line - 1)
    if not test.examples:
        raise SnippetError(f"{name}:{block.line}: a pycon block without a >>> line")
    test.globs = namespace
    report: list[str] = []
    doctest.DocTestRunner(optionflags=flags, verbose=False).run(
        test, out=report.append, clear_globs=False
    )
    if report:
        raise SnippetError("".join(report))


def run_console(block: Block, name: str, folder: Path, found_in: str) -> None:
    commands: list[tuple[int, str, list[str]]] = []
    lines = enumerate(block.text.splitlines(), block.line)
    for number, line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines, (0, ""))[1].removeprefix("> ")
            commands.append((number, command, []))
        elif commands:
            commands[-1][2].append(line)
        else:
            raise SnippetError(f"{name}:{number}: a console block must begin with '$ command'")

    status = 0
    followed = [*(command for _, command, _ in commands[1:]), ""]
    for (number, command, expected), then in zip(commands, followed, strict=True):
        if command.split()[0] not in COMMANDS:
            raise SnippetError(
                f"{name}:{number}: {command!r} is not run here; mark the block 'console no-run'"
            )
        status, output = shell(command, status, folder, found_in)
        difference = compare(expected, output)
        if status and "$?" not in then and not set(expected) - {"", "..."}:
            difference = f"it fails, and nothing of what it says is shown:\n{output}"
        if difference or "Traceback (most recent call last)" in output:
            raise SnippetError(
                f"{name}:{number}: $ {command}\n(exit status {status})\n{difference or output}"
            )


def shell(command: str, previous: int, folder: Path, found_in: str) -> tuple[int, str]:
    """Exit status and output of a command that sees `previous` as ``$?``."""
    env = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    places = (found_in, str(Path(sys.executable).parent), env.get("PATH"))
    env |= {
        "PATH": os.pathsep.join(filter(None, places)),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }
    result = subprocess.run(
        ["bash", "-c", f"(exit {previous}); {command}"],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return result.returncode, result.stdout


def compare(expected: list[str], output: str) -> str:
    """A diff, or nothing if the output is as expected; ends of lines and of text are free."""
    want = "\n".join(line.rstrip() for line in expected).strip("\n").splitlines()
    have = "\n".join(line.rstrip() for line in output.splitlines()).strip("\n").splitlines()
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in want)
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in have)):
        return ""
    return "\n".join(difflib.unified_diff(want, have, "in the document", "now", lineterm=""))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_document(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: Forked
) -> None:
    monkeypatch.chdir(tmp_path)
    name = str(document.relative_to(ROOT))
    try:
        run_document(document.read_text(encoding="utf-8"), name, tmp_path, forked.commands)
    except SnippetError as error:
        pytest.fail(str(error), pytrace=False)


# The runner itself: it passes what is right and fails what is wrong.

GOOD = """\
# Title

```eq file=a.eq
h[t] = x[t]
```

```console
$ cat a.eq
h[t] = x[t]
$ printf 'a\\nb\\nc\\n'
a
...
c
$ cat missing
...
cat: missing: No such file or directory
$ cat missing 2> \\
>   err.txt
$ echo $?
1
```

```python
x = 1
```

- a list

  ```python
  if x:
      x += 1
  ```

```pycon
>>> x
2
>>> list(range(99))
[0, 1, ..., 98]
>>> y = x
```

````markdown
```python
raise Exception("a fence inside a longer fence is text")
```
````

```console no-run
$ make run
```

```python no-run
raise Exception
```

```python
assert y == 2 and open("a.eq").read() == "h[t] = x[t]\\n"
```
"""


def test_good_document_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_document(GOOD, "good.md", tmp_path) == 6


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("```console\n$ echo a\nb\n```", SnippetError, r"bad.md:2: \$ echo a\n(.|\n)*-b\n\+a"),
        ("```console\n$ echo a\n```", SnippetError, r"\+a"),
        ("```console\n$ echo a\n...\nb\n```", SnippetError, r"-b"),
        ("```console\n$ echo abc\na.c\n```", SnippetError, r"-a\.c\n\+abc"),
        ("```console\n$ python -c 1/0\n...\n```", SnippetError, "ZeroDivisionError"),
        ("```console\n$ cat none\n...\n```", SnippetError, r"status 1\)\nit fails(.|\n)*No such"),
        ("```console\n$ cat none 2> e\n$ echo a\na\n```", SnippetError, "it fails, and nothing"),
        ("```console\n$ make run\n```", SnippetError, "no-run"),
        ("```console\noutput\n```", SnippetError, "must begin with"),
        ("```pycon\n>>> 1 + 1\n3\n```", SnippetError, r'"bad.md", line 2(.|\n)* 3\nGot:\n *2'),
        ("```pycon\n1 + 1\n```", SnippetError, "without a >>>"),
        ("```python\nassert 0, 'no'\n```", AssertionError, "no"),
        ("```python\nx = 1\n", SnippetError, "line 1: the block is never closed"),
    ],
)
def test_bad_document_fails(
    text: str, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        run_document(text, "bad.md", tmp_path)


def test_python_traceback_has_the_line_of_the_document(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_document("# T\n\n```python\n\n1 / 0\n```\n", "bad.md", tmp_path)
    last = caught.traceback[-1]
    assert (last.frame.code.raw.co_filename, last.lineno + 1) == ("bad.md", 5)
