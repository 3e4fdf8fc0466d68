"""A study from its first training to its figure.

>>> run_study(Shaping(QUICK), Path("runs/study-shaping"), workers=2, console=Console())
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from rich.console import Console

from indicial.lab.pool import Outcome, run_trials
from indicial.lab.studies.study import Place, Study
from indicial.lab.studies.trainings import unfinished
from indicial.lab.tables import plain
from indicial.lab.trials import Trial
from indicial.lab.views import View, make_view
from indicial.program.messages import IndicialError

Train = Callable[[Sequence[Trial], int, View], Mapping[str, Outcome]]
WIDTH = 80


def run_study(
    study: Study, folder: Path, workers: int, console: Console, train: Train = run_trials
) -> bool:
    """Whether it came to its end; what is finished is kept anyway, and the same call goes on."""
    place = Place.make(folder, study)
    trials = study.trials(folder)
    left = unfinished(trials)
    view = make_view(left, console)
    place.keep()
    if left:
        done = len(trials) - len(left)
        kept = f", {done} of them done already" if done else ""
        view.say(f"{len(trials)} training{'s' * (len(trials) > 1)}{kept}; all is in {folder}")
        outcomes = train(left, workers, view)
        mistakes = [one.mistake for one in outcomes.values() if one.mistake]
        if mistakes:
            raise IndicialError(f"{len(mistakes)} trainings failed; the first: {mistakes[0]}")
    still = unfinished(trials)
    if still:
        view.say(f"stopped; {len(trials) - len(still)} of {len(trials)} trainings are finished")
        if not study.enough(folder):
            return False
    try:
        findings = study.find(place, view.say)
    except KeyboardInterrupt:
        view.say("stopped; what was measured so far is kept")
        return False
    view.say(f"\n{findings.title}\n\n{plain(findings.table, findings.right)}\n")
    for note in findings.notes:
        view.say("\n".join(wrap(note, WIDTH, subsequent_indent="  ")))
    view.say("")
    for path in place.write(findings):
        view.say(str(path))
    return not still
