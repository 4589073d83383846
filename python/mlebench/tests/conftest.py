"""The program, an empty cache and a prepared competition, for all tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterator

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]

# Before mlebench is imported: the data folder depends on it.
_built = CHECKOUT / "bin" / "mleflow"
if "MLEFLOW_BINARY" not in os.environ and _built.is_file():
    os.environ["MLEFLOW_BINARY"] = str(_built)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder, caches of its own, and no settings of the user."""
    home = tmp_path_factory.mktemp("home")
    before, cwd = dict(os.environ), os.getcwd()
    for name in [n for n in os.environ if n.startswith("MLEFLOW_") and n != "MLEFLOW_BINARY"]:
        del os.environ[name]
    os.environ["MLEFLOW_CACHE_DIR"] = str(home / "cache")
    os.environ["MLEFLOW_STATE_DIR"] = str(home / "state")
    os.environ["XDG_CACHE_HOME"] = str(home / "xdg")
    os.environ["HOME"] = str(home)
    os.chdir(home)
    yield home
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def data(home: Path) -> Path:
    """A folder of data with demo-digits, prepared by the command."""
    from mlebench.cli import main

    main(["prepare", "-c", "demo-digits", "--data-dir", str(home / "data")])
    return home / "data"
