"""Parts of a run's page, as ``mleflow report`` draws it, for notebooks.

The page has no scripts, and all strings in it are escaped by the program. Its
style sheet is confined to the part, which has a background of its own: it reads
well in any theme, and follows that of JupyterLab and VS Code.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional

from ._binary import call, operand, text
from ._errors import Error, NotInstalled

_ROOT = re.compile(r":root \{(.*?)\}", re.DOTALL)
_SECTION = re.compile(r'<section id="([a-z]+)">(.*?)</section>', re.DOTALL)
_ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
# Repeated, so that it goes before the styles that notebooks give to tables.
_SCOPE = ".mleflow.mleflow.mleflow"
_FRAME = (
    "background: var(--page); color: var(--text); padding: 14px 16px; border-radius: 10px;"
    " font: 14px/1.5 system-ui, sans-serif; tbody tr { background: none; } tbody tr:hover { background: var(--sunk); }"
    " h2:first-child { margin-top: 0; }"
)
_THEMES = (('[data-jp-theme-light="true"]', 0), ('[data-jp-theme-light="false"]', 1), (".vscode-light", 0), (".vscode-dark", 1))


def run(run_id: str) -> Optional[str]:
    """Draw a run: its head, warnings, leaderboards and what went wrong. None without a page."""
    return _draw(run_id, lambda page: [_head(page), *_sections(page, "leaderboard", "failures")])


def leaderboard(run_id: str) -> Optional[str]:
    """Draw the leaderboards of a run. None without a page, or without a leaderboard in it."""
    return _draw(run_id, lambda page: _sections(page, "leaderboard"))


def competition(run_id: str, name: str) -> Optional[str]:
    """Draw a competition of a run: scores among medals and people. None without one."""
    mark = f'<code class="soft">{name}</code></h3>'
    return _draw(run_id, lambda page: [a for a in _ARTICLE.findall(page) if mark in a])


def _draw(run_id: str, parts: Callable[[str], List[str]]) -> Optional[str]:
    try:
        out, _ = call(["report", operand(run_id, "run"), "--output=-"])
    except (Error, NotInstalled, ValueError):
        return None
    page = text(out)
    drawn = "".join(parts(page))
    sheet = page.partition("<style>")[2].partition("</style>")[0]
    return f'<div class="mleflow"><style>{_confine(sheet)}</style>{drawn}</div>' if drawn and sheet else None


def _head(page: str) -> str:
    head = page.partition("<header>")[2].partition("</header>")[0]
    warnings = page.partition("<main>")[2].partition("<section")[0]
    return re.sub(r"<nav>.*?</nav>", "", head, flags=re.DOTALL) + warnings


def _sections(page: str, *names: str) -> List[str]:
    found = dict(_SECTION.findall(page))
    return [f"<section>{found[name]}</section>" for name in names if name in found]


def _confine(sheet: str) -> str:
    """Let the rules hold in the part only; the two sets of colours are also chosen by the notebook's theme."""
    colours = _ROOT.findall(sheet)
    themes = "".join(f"{theme} {_SCOPE} {{{colours[dark]}}}" for theme, dark in _THEMES if dark < len(colours))
    return f"{_SCOPE} {{ {sheet.replace(':root', '&')} {_FRAME} }} {themes}"
