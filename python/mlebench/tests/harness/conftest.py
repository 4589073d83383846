"""The golden cases, prepared once, and a user's folder in which harnesses find them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

from . import golden


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with data/, which is also the data folder of a user that has set none."""
    if not golden.ARCHIVES.is_dir():
        pytest.skip(f"needs the golden cases in {golden.ARCHIVES}")
    folder = tmp_path_factory.mktemp("golden")
    (folder / "user" / "mle-bench").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "user" / "mle-bench" / "data").symlink_to(folder / "data")
    built = golden.CHECKOUT / "bin" / "mleflow"
    with pytest.MonkeyPatch.context() as patch:
        if "MLEFLOW_BINARY" not in os.environ and built.is_file():
            patch.setenv("MLEFLOW_BINARY", str(built))
        patch.setenv("MLEFLOW_CACHE_DIR", str(folder / "cache"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "user"))
        patch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        yield folder


@pytest.fixture(scope="session")
def cases(place: Path) -> Dict[str, List[golden.Case]]:
    """The cases of the chosen competitions."""
    began = time.monotonic()
    made = {one: golden.prepare(one, place) for one in golden.chosen()}
    golden.note("prepared competitions", len(made), time.monotonic() - began)
    return made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for what, (number, seconds) in golden.totals.items():
        terminalreporter.write_line(f"{what}: {number:.0f} in {seconds:.1f} s")
