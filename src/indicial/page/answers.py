"""From a question to its answer, in a worker process: nothing here raises.

answer("read", {"text": "y[j] = W[j,I] x[I]"})    →   {"answer": {"messages": [], …}}
answer("read", {"txet": ""})                      →   {"error": "the question has a field txet …"}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from indicial.page import designs, equations, runs
from indicial.page.protocol import QUESTIONS
from indicial.page.wire import checked
from indicial.program.messages import IndicialError

ANSWERS: dict[str, Callable[[Any], Any]] = {
    "read": equations.reading,
    "facts": equations.facts,
    "view": equations.view,
    "try": equations.trial,
    "claims": equations.claims,
    "model": equations.model,
    "runs": runs.runs,
    "inputs": runs.inputs,
    "curves": runs.curves,
    "generate": runs.generate,
    "attend": runs.attend,
    "answer": runs.said,
    "design": designs.begin,
    "judge": designs.judge,
    "learn": designs.learn,
    "beside": designs.beside,
}


def answer(name: str, question: dict[str, Any]) -> dict[str, Any]:
    """The answer, or what is wrong in words for the user."""
    try:
        asked, _ = QUESTIONS[name]
        return {"answer": ANSWERS[name](checked(asked, question))}
    except IndicialError as error:
        return {"error": str(error)}
    except RecursionError:
        return {"error": "that is nested too deep; give inner parts names of their own"}
    except MemoryError:
        return {"error": "there is not enough memory for that"}
    except Exception as error:
        return {"error": f"this failed, which is a mistake of Indicial: {type(error).__name__}"}
