from __future__ import annotations

import os
import pickle
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

import mleflow
from mleflow import _binary, _errors


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


@pytest.mark.parametrize(
    ("package", "script"),
    [
        ("env/lib/python3.12/site-packages", "env/bin"),
        ("usr/local/lib/python3.11/dist-packages", "usr/local/bin"),
        ("target", "target/bin"),
    ],
)
def test_script_of_the_package(package: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script that came with the package goes before one of the environment that runs."""
    ours, other = program(tmp_path / script / "mleflow"), program(tmp_path / "other" / "mleflow")
    monkeypatch.delenv("MLEFLOW_BINARY", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(other.parent))
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / package / "mleflow" / "_binary.py"))
    assert mleflow.binary() == str(ours)
    ours.unlink()
    assert mleflow.binary() == str(other)


def test_a_source_tree_is_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "checkout" / "bin" / "mleflow")
    other = program(tmp_path / "other" / "mleflow")
    monkeypatch.delenv("MLEFLOW_BINARY", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(other.parent))
    monkeypatch.setattr(_binary, "__file__", str(tmp_path / "checkout/python/mleflow/src/mleflow/_binary.py"))
    assert mleflow.binary() == str(other)


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLEFLOW_BINARY", str(tmp_path / "none"))
    with pytest.raises(mleflow.NotInstalled, match="MLEFLOW_BINARY"):
        mleflow.runs()
    monkeypatch.delenv("MLEFLOW_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr("sys.executable", os.path.join(tmp_path, "python"))
    with pytest.raises(mleflow.NotInstalled, match="PATH.* install a wheel .*MLEFLOW_BINARY"):
        mleflow.binary()


def test_version() -> None:
    assert mleflow.version()[0].isdigit()
    assert mleflow.__version__ == metadata.version("mleflow")


def test_version_without_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert not hasattr(mleflow, "__version__") and not hasattr(mleflow, "nonsense")


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
