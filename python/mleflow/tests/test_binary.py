from __future__ import annotations

import os
import pickle
import sysconfig
from pathlib import Path

import pytest

import mleflow
from mleflow import _errors


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, script, on_path = (program(tmp_path / place / "mleflow") for place in ("named", "script", "path"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(script.parent))
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("MLEFLOW_BINARY", str(named))
    assert mleflow.binary() == str(named)
    monkeypatch.delenv("MLEFLOW_BINARY")
    assert mleflow.binary() == str(script)
    script.unlink()
    assert mleflow.binary() == str(on_path)


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLEFLOW_BINARY", str(tmp_path / "none"))
    with pytest.raises(mleflow.NotInstalled, match="MLEFLOW_BINARY"):
        mleflow.runs()
    monkeypatch.delenv("MLEFLOW_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr("sys.executable", os.path.join(tmp_path, "python"))
    with pytest.raises(mleflow.NotInstalled, match="PATH"):
        mleflow.binary()


def test_version() -> None:
    assert mleflow.version()[0].isdigit()


def test_flags_are_not_operands() -> None:
    with pytest.raises(ValueError, match="--help"):
        mleflow.Run("--help")
    with pytest.raises(ValueError, match="pipeline"):
        mleflow.apply("")
    with pytest.raises(ValueError, match="competition"):
        mleflow.prepare("-a")


@pytest.mark.parametrize(
    ("stderr", "want"),
    [
        ("", []),
        ("Error: no such run\n", [("no such run", "")]),
        ("   0.00s start x\nError: a\nb\nc\n", [("a", "b\nc")]),
        ('note\n{"diagnostics":[{"severity":"error","summary":"S","detail":"D"}]}\n', [("S", "D")]),
        ('{"diagnostics":null}', [('{"diagnostics":null}', "")]),
        ('{"diagnostics":[', [('{"diagnostics":[', "")]),
        ("panic: x\ngoroutine 1", [("panic: x\ngoroutine 1", "")]),
    ],
)
def test_parse(stderr: str, want: list[tuple[str, str]]) -> None:
    assert [(d.summary, d.detail) for d in _errors.parse(stderr)] == want


def test_invalid_pipeline() -> None:
    with pytest.raises(mleflow.Error) as caught:
        mleflow.apply("invalid.hcl")
    err = caught.value
    assert err.exit_status == 2 and err.run is None
    assert err.diagnostics[0].position == mleflow.Position("invalid.hcl", 2, 4)
    assert str(err).startswith("mleflow apply: exit status 2\ninvalid.hcl:2:4: ")
    assert str(pickle.loads(pickle.dumps(err))) == str(err)


def test_unknown_run() -> None:
    with pytest.raises(mleflow.Error, match="no such run") as caught:
        mleflow.Run("nosuch")
    assert caught.value.exit_status == 2
