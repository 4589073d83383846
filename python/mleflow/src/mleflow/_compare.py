"""What differs between two runs."""

from __future__ import annotations

from typing import Any, List, Literal, Mapping, Optional, Union, overload

from . import _frames, _html
from ._binary import call_json, operand
from ._frames import Frame, Record
from ._run import Run

_COLUMNS = ("address", "was", "is", "difference", "was_outcome", "is_outcome")


class Comparison:
    """What differs between two runs.

    Attributes:
        record: What ``mleflow diff --json`` prints: differences of
            ``variables``, ``environment``, ``steps`` (inputs by digest),
            ``outcomes``, ``outputs`` and ``scores``. None is no difference.
            ``agents`` compares each agent of both runs with itself.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record

    @overload
    def scores(self, frame: Literal["records"]) -> List[Record]: ...

    @overload
    def scores(self, frame: Optional[Frame] = None) -> Any: ...

    def scores(self, frame: Optional[Frame] = None) -> Any:
        """Make a table of the grade steps whose scores differ.

        Columns are ``address``, ``was``, ``is`` and ``difference`` (in the
        metric's unit; missing without a score), ``was_outcome`` and
        ``is_outcome``.

        Args:
            frame: As of Run.scores.

        Raises:
            ImportError: The library asked for is not installed.
        """
        rows = [{c: _frames.number(s.get(c)) for c in _COLUMNS} for s in self.record["scores"] or []]
        return _frames.make(rows, _frames.choose(frame))

    @property
    def sentences(self) -> List[str]:
        """Each agent of both runs compared with itself, in words.

        Attempts are compared under the same conditions only; the sentences
        say how many of which run are not, and why.
        """
        texts: List[str] = []
        for agent in self.record.get("agents") or []:
            texts.append(agent["sentence"])
            for run, side in (("from", "from_aside"), ("to", "to_aside")):
                if agent.get(side):
                    texts.append(f"Of run {self.record[run]}, {agent[side]}.")
        return texts

    def __str__(self) -> str:
        return "\n".join(self.sentences) or repr(self)

    def __repr__(self) -> str:
        return f"<mleflow.Comparison of {self.record['from']} with {self.record['to']}>"

    def _repr_html_(self) -> str:
        title = f"From {self.record['from']} to {self.record['to']}"
        changes = [(kind, c) for kind in ("variables", "outcomes") for c in self.record[kind] or []]
        rows: List[List[Any]] = [[kind, c["name"], c["was"], c["is"]] for kind, c in changes]
        rows += [["score", s["address"], s["was"], s["is"]] for s in self.scores("records")]
        return _html.table(title, ["what", "name", "was", "is"], rows, " ".join(self.sentences))


def compare(a: Union[Run, str], b: Union[Run, str]) -> Comparison:
    """Compare two runs: variables, inputs, outcomes and scores.

    Args:
        a: The earlier run, or its id.
        b: The later run, or its id.

    Raises:
        Error: There is no such run.
    """
    return Comparison(call_json(["diff", _id(a), _id(b)]))


def _id(run: Union[Run, str]) -> str:
    return run.id if isinstance(run, Run) else operand(run, "run")
