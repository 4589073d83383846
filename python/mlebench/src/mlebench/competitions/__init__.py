"""Graders and preparers by competition, such as mlebench.competitions.leaf-classification.grade.

The modules have no files: each is made when it is imported, and its function
asks mleflow.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Sequence


def _grade(competition_id: str) -> Dict[str, Any]:
    from mlebench.grade_helpers import InvalidSubmissionError, grade_tables

    def report(submission: Any, answers: Any) -> Dict[str, Any]:
        return grade_tables(competition_id, submission, answers)

    def grade(submission: Any, answers: Any) -> float:
        """The score of a submission at full precision."""
        result = report(submission, answers)
        if result["exact_score"] is None:
            raise InvalidSubmissionError(result["reason"])
        return float(result["exact_score"])

    setattr(grade, "report", report)
    return {"grade": grade, "InvalidSubmissionError": InvalidSubmissionError}


def _prepare(competition_id: str) -> Dict[str, Any]:
    from mlebench import _program
    from mlebench.utils import get_logger

    logger = get_logger(__name__)

    def prepare(raw: Path, public: Path, private: Path) -> None:
        """Split raw data, which are unpacked once, into two folders."""
        public, private = Path(public), Path(private)
        public.mkdir(parents=True, exist_ok=True)
        private.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=public.parent) as folder:
            flags = [f"--raw={Path(raw).resolve()}", "--skip-verification", "--offline"]
            _program.prepare([competition_id], Path(folder), flags, logger.info)
            for half, to in (("public", public), ("private", private)):
                _move(Path(folder, competition_id, "prepared", half), to)

    return {"prepare": prepare}


def _move(source: Path, to: Path) -> None:
    """Move what is in a folder into another, in place of what is there."""
    for one in source.iterdir():
        if one.is_dir() and (to / one.name).is_dir():
            _move(one, to / one.name)
        else:
            shutil.move(str(one), str(to / one.name))


_MODULES: Dict[str, Callable[[str], Dict[str, Any]]] = {"grade": _grade, "prepare": _prepare}


class _Maker(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the package of a competition, and its modules grade and prepare."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        competition_id, module = self._parts(fullname)
        if not competition_id or module not in ("", *_MODULES):
            return None
        from mlebench import _program

        try:
            _program.show(competition_id)
        except _program.UnknownCompetition:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=__file__, is_package=not module)

    @staticmethod
    def _parts(fullname: str) -> Sequence[str]:
        """Competition and module of a name; no competition if it is none of these."""
        names = fullname[len(__name__) + 1 :].split(".") if fullname.startswith(__name__ + ".") else [""]
        if names == ["utils"] or len(names) > 2:
            return "", ""
        return (names + [""])[:2]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        competition_id, name = self._parts(module.__name__)
        module.__file__ = __file__
        if not name:
            return
        for attribute, value in _MODULES[name](competition_id).items():
            setattr(module, attribute, value)
            if attribute == name:  # named as in a file, so that it can be pickled
                value.__module__, value.__qualname__ = module.__name__, name


if not any(type(finder).__module__ == __name__ for finder in sys.meta_path):
    sys.meta_path.append(_Maker())
