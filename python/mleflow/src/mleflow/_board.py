"""Leaderboards."""

from __future__ import annotations

import json
from typing import Any, List, Literal, Mapping, Optional, overload

from . import _frames, _html, _page
from ._frames import Frame, Record

_PERCENTAGE = "_percentage"
_OF_PEOPLE = ("any medal", "gold", "above median")  # columns that need a human leaderboard


class Leaderboard:
    """The leaderboard of an aggregate step.

    Attributes:
        address: Address of the step, such as ``"step.aggregate.board"``.
        text: The leaderboard as text.
        record: The file ``board.json`` of the step; docs/leaderboard.md
            describes it.
    """

    def __init__(self, address: str, text: str, record: Mapping[str, Any], page: Optional[str] = None) -> None:
        self.address = address
        self.text = text
        self.record = record
        self._page = page  # the run whose page draws it, and no other leaderboard

    @overload
    def frame(self, frame: Literal["records"]) -> List[Record]: ...

    @overload
    def frame(self, frame: Optional[Frame] = None) -> Any: ...

    def frame(self, frame: Optional[Frame] = None) -> Any:
        """Make a table with a row for each agent, by class and place.

        Columns are ``class_letter``, ``place``, ``tied``, ``agent``,
        ``competitions`` and ``seeds`` (numbers of them), ``isolation``,
        ``untrusted``, ``task``, ``class`` (the conditions of the attempts),
        and for each figure such as ``any_medal_percentage`` its mean over
        seeds in percent, and with the suffix ``_sem`` the standard error of
        the mean. Places are given within a class: if there are several,
        ``class_letter`` names them A, B and so on, and otherwise is missing.
        A board of a benchmark has ``benchmark_figure``, its interval over
        other competitions ``benchmark_lower`` and ``benchmark_upper``, and
        ``tie_group``, where the agent has a figure.
        The place of an agent without figures is missing, and so are figures
        without a value, such as medals of a rehearsal.

        Args:
            frame: "pandas", "polars" or "records"; default pandas, and
                records where it is not installed.

        Raises:
            ImportError: The library asked for is not installed.
        """
        frame = _frames.choose(frame)
        rows = [_wide(agent) for agent in self.record["agents"]]
        columns = {key: None for row in rows for key in row}
        return _frames.make([{**columns, **row} for row in rows], frame)

    @overload
    def figures(self, frame: Literal["records"]) -> List[Record]: ...

    @overload
    def figures(self, frame: Optional[Frame] = None) -> Any: ...

    def figures(self, frame: Optional[Frame] = None) -> Any:
        """Make a tidy table with a row for each agent, group and figure.

        Columns are ``class_letter`` (as of Leaderboard.frame), ``agent``,
        ``group`` (``"all"`` or a complexity), ``figure``, ``mean``, ``sem``
        (standard error), ``ci_lower`` and ``ci_upper`` (the reference's
        interval: 1.96 standard errors), in percent, ``seeds`` and
        ``competitions`` (numbers of them), and ``class``.

        Args:
            frame: As of Leaderboard.frame.

        Raises:
            ImportError: The library asked for is not installed.
        """
        rows: List[Record] = []
        for agent in self.record["agents"]:
            for group in [agent["overall"], *(agent.get("groups") or [])]:
                rows += _tidy(agent, group)
        return _frames.make(rows, _frames.choose(frame))

    def __repr__(self) -> str:
        return f"<mleflow.Leaderboard {self.address}: {len(self.record['agents'])} agents>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return (_page.leaderboard(self._page) if self._page else None) or self._table()

    def _table(self) -> str:
        agents = self.frame("records")
        columns = ["place", "agent", "any medal", "gold", "above median", "valid", "seeds", "isolation"]
        rows = [_drawn(row) for row in agents]
        if benchmark := self.record.get("benchmark"):
            columns.insert(2, benchmark["aggregate"])
            for row, cells in zip(agents, rows):
                cells.insert(2, _ruled(row))
        kept = [i for i, name in enumerate(columns) if name not in _OF_PEOPLE or any(cells[i] != "-" for cells in rows)]
        note = "Mean ± standard error over seeds, in percent."
        for letter, name in {row["class_letter"]: row["class"] for row in agents}.items():
            note += f" Class {letter}: {name}." if letter else ""
        if self.record.get("untrusted"):
            note += " Untrusted: attempts were not isolated."
        return _html.table("Leaderboard", [columns[i] for i in kept], [[cells[i] for i in kept] for cells in rows], note)


def decode(address: str, text: str, data: bytes, page: Optional[str] = None) -> Leaderboard:
    """Make a leaderboard of its step's outputs."""
    return Leaderboard(address, text, json.loads(data), page)


def _wide(agent: Mapping[str, Any]) -> Record:
    overall = agent["overall"]
    row: Record = {
        "class_letter": agent.get("class_letter"),
        "place": agent.get("place") or None,
        "tied": agent.get("tied", False),
        "agent": agent["name"],
        "competitions": len(overall.get("competitions") or []),
        "seeds": overall.get("seeds"),
        "isolation": overall.get("isolation"),
        "untrusted": overall.get("untrusted", False),
        "task": overall.get("task"),
        "class": agent.get("class"),
    }
    if "benchmark_figure" in agent:
        figure = agent["benchmark_figure"]
        ends = figure.get("interval_competitions") or {}
        row["benchmark_figure"] = _frames.number(figure["value"])
        row["benchmark_lower"], row["benchmark_upper"] = (_frames.number(ends.get(e)) for e in ("lower", "upper"))
        row["tie_group"] = figure["tie_group"]
    for figure, value in (overall.get("percentages") or {}).items():
        row[figure] = _frames.number(value["mean"])
        row[figure + "_sem"] = _frames.number(value.get("sem"))
    return row


def _tidy(agent: Mapping[str, Any], group: Mapping[str, Any]) -> List[Record]:
    return [
        {
            "class_letter": agent.get("class_letter"),
            "agent": agent["name"],
            "group": group["name"],
            "figure": figure,
            **{key: _frames.number(value.get(key)) for key in ("mean", "sem", "ci_lower", "ci_upper")},
            "seeds": group.get("seeds"),
            "competitions": len(group.get("competitions") or []),
            "class": agent.get("class"),
        }
        for figure, value in (group.get("percentages") or {}).items()
    ]


def _ruled(row: Record) -> str:
    value = row.get("benchmark_figure")
    if value is None:
        return "-"
    lower, upper = row["benchmark_lower"], row["benchmark_upper"]
    return f"{value:.2f}" + (f" ({lower:.2f} to {upper:.2f})" if lower is not None else "")


def _drawn(row: Record) -> List[Any]:
    def percent(figure: str) -> str:
        mean, sem = row.get(figure + _PERCENTAGE), row.get(figure + _PERCENTAGE + "_sem")
        if mean is None:
            return "-"
        known = sem is not None and (row.get("seeds") or 0) > 1
        return f"{mean:.1f} ± {sem:.1f}" if known else f"{mean:.1f}"

    figures = [percent(f) for f in ("any_medal", "gold_medal", "above_median", "valid_submissions")]
    place = " ".join(str(part) for part in (row["class_letter"], row["place"]) if part)
    return [place, row["agent"], *figures, row["seeds"], row["isolation"]]
