"""Runs the examples of docs/python.md, in order, and compares what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not PAGE.is_file(), reason="not in a checkout")
def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLEFLOW_CACHE_DIR", os.fspath(tmp_path / "cache"))
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) > 5
    names: dict[str, object] = {}
    for code, text in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)
        if text:
            assert out.getvalue() == text, code
