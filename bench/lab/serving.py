"""A lab of one's own, and somebody who asks it.

with lab("transformer") as link:
    client = Client(link)
    client.ask("read", {"text": "y[j] = W[j,I] x[I]"})     →   the answer, and how long it took
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit


@contextmanager
def lab(*words: str, folder: Path | None = None) -> Iterator[str]:
    """Starts `indicial lab` and gives its link; ends it afterwards."""
    command = [sys.executable, "-m", "indicial", "lab", "--no-browser", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        if found is None:
            raise RuntimeError("the lab did not start")
        yield found.group()
    finally:
        process.terminate()
        process.wait()


class Client:
    """A page that asks over one connection, as browsers do."""

    def __init__(self, link: str, page: str = "p") -> None:
        parts = urlsplit(link)
        self.page = page
        self.connection = http.client.HTTPConnection(str(parts.netloc), timeout=120)
        self.connection.request("GET", f"/?{parts.query}")
        response = self.connection.getresponse()
        response.read()
        cookie = (response.getheader("set-cookie") or "").partition(";")[0]
        self.headers = {"Cookie": cookie, "Content-Type": "application/json"}

    def ask(self, name: str, question: dict[str, Any]) -> tuple[Any, float]:
        """The answer, or what is wrong, and the seconds that it took."""
        body = json.dumps({"page": self.page, "question": question})
        begun = perf_counter()
        self.connection.request("POST", f"/ask/{name}", body, self.headers)
        told = json.loads(self.connection.getresponse().read())
        return told, perf_counter() - begun
