"""The golden cases: submissions, and the grades that the reference gave them."""

from __future__ import annotations

import json
import math
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from mleflow import _binary

CHECKOUT = Path(__file__).resolve().parents[4]
ARCHIVES = CHECKOUT.parent / "shared" / "golden"
ALL = 3239

# Scores that the cases have wrong, with those that the reference's grader gives
# with numpy 1.26.4; the tests of competitions/prep say why.
_RIGHT = {("smartphone-decimeter-2022", "antipode.csv"): 20015086.78949}

# What is graded unless MLEFLOW_GOLDEN=all: a table, ranked lists, run-length
# codes, texts, answers as JSON lines, and a competition with a parameter.
SLICE = (
    "AI4Code",
    "hubmap-kidney-segmentation",
    "leaf-classification",
    "spooky-author-identification",
    "tensorflow2-question-answering",
    "tweet-sentiment-extraction",
)


# Read before the tests clear such variables.
_WHOLE = os.environ.get("MLEFLOW_GOLDEN") == "all"


@dataclass(frozen=True)
class Case:
    """A submission, and its score to five decimals; None if it has none."""

    competition: str
    path: Path
    score: Optional[float]

    @property
    def name(self) -> str:
        return f"{self.competition}/{self.path.name}"


def chosen() -> List[str]:
    """The competitions whose cases are graded."""
    if _WHOLE:
        return sorted(path.name[: -len(".tar.gz")] for path in ARCHIVES.glob("*.tar.gz"))
    return list(SLICE)


def prepare(competition: str, folder: Path) -> List[Case]:
    """Prepare the raw data of a competition in the folder data, and return its cases."""
    with tarfile.open(ARCHIVES / f"{competition}.tar.gz") as archive:
        archive.extractall(folder / "cases", **_safe())
    here = folder / "cases" / competition
    parameters = json.loads((CHECKOUT / "competitions/testdata/golden/params.json").read_text())
    flags = [f"--param={name}={value}" for name, value in parameters.get(competition, {}).items()]
    command = ["prepare", f"--competition={competition}", f"--raw={here / 'raw'}", f"--data-dir={folder / 'data'}"]
    _binary.call([*command, "--skip-verification", "--offline", *flags])
    verdicts = json.loads((here / "expected.json").read_text())
    return [
        Case(competition, here / "submissions" / name, _RIGHT.get((competition, name), _score(verdict)))
        for name, verdict in sorted(verdicts.items())
    ]


def _safe() -> Dict[str, Any]:
    """Arguments that Pythons before 3.12 lack in their first releases."""
    return {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def _score(verdict: Mapping[str, Any]) -> Optional[float]:
    return float(verdict["score"]) if verdict["status"] == "ok" else None


def spell(score: Optional[float]) -> str:
    """A score as text, so that NaN equals NaN."""
    if score is None:
        return "none"
    return "nan" if math.isnan(score) else repr(float(score))


def cut(text: str) -> Any:
    """The JSON of a report, from the first brace to the last, as harnesses cut it."""
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


totals: Dict[str, List[float]] = {}


def note(what: str, number: int, seconds: float) -> None:
    """Add to the totals that are printed at the end."""
    total = totals.setdefault(what, [0, 0.0])
    total[0] += number
    total[1] += seconds
