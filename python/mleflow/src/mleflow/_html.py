"""Small tables in HTML for notebooks. Every string is escaped: agents and competitions choose some."""

from __future__ import annotations

import math
from html import escape
from typing import Any, Iterable, Sequence, Tuple

_CELL = "text-align:left;padding:2px 8px"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Draw a table with a title, a header and, below it, a note."""
    head = "".join(f'<th style="{_CELL}">{cell(c)}</th>' for c in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{cell(v)}</td>' for v in row) + "</tr>" for row in rows
    )
    below = f"<p>{cell(note)}</p>" if note else ""
    return (
        f"<div><p><b>{cell(title)}</b></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}</div>"
    )


def facts(title: str, pairs: Iterable[Tuple[str, Any]], note: str = "") -> str:
    """Draw names and values; those without a value are left out."""
    body = "".join(
        f'<tr><th style="{_CELL}">{cell(name)}</th><td style="{_CELL}">{cell(value)}</td></tr>'
        for name, value in pairs
        if value is not None and value != ""
    )
    below = f"<p>{cell(note)}</p>" if note else ""
    return f"<div><p><b>{cell(title)}</b></p><table><tbody>{body}</tbody></table>{below}</div>"


def cell(value: Any) -> str:
    """Write a value: nothing for None, yes or no, five digits of a float."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    return escape(str(value), quote=True)
