"""The competitions that mleflow knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List

from mlebench import _program
from mlebench.grade_helpers import Grader
from mlebench.utils import get_logger, import_fn

logger = get_logger(__name__)

DEFAULT_DATA_DIR = (_program.user_cache_dir() / "mle-bench" / "data").resolve()

_FIELDS = (
    "id", "name", "description", "grader", "answers", "gold_submission", "sample_submission", "competition_type",
    "prepare_fn", "raw_dir", "private_dir", "public_dir", "checksums", "leaderboard",
)  # fmt: skip


@dataclass(frozen=True)
class Competition:
    """A competition, and where its data are or will be.

    Attributes:
        description: public/description.md where it is prepared, else a
            summary.
    """

    id: str
    name: str
    description: str
    grader: Grader
    answers: Path
    gold_submission: Path
    sample_submission: Path
    competition_type: str
    prepare_fn: Callable[[Path, Path, Path], Any]
    raw_dir: Path
    private_dir: Path
    public_dir: Path
    checksums: Path
    leaderboard: Path

    def __post_init__(self) -> None:
        for name in ("id", "name", "description", "competition_type"):
            value = getattr(self, name)
            assert isinstance(value, str) and value, f"the field {name} of a competition is a string that is not empty"
        for name in ("answers", "gold_submission", "sample_submission", "checksums", "leaderboard"):
            assert isinstance(getattr(self, name), Path), f"the field {name} of a competition is a Path"
        assert isinstance(self.grader, Grader), "the field grader of a competition is a Grader"

    @property
    def data_dir(self) -> Path:
        """The folder of all competitions' data."""
        return self.public_dir.parents[2]

    @staticmethod
    def from_dict(data: Dict[str, Any]) -> Competition:
        lacking = [name for name in _FIELDS if name not in data]
        if lacking:
            raise ValueError(f"fields of a competition are missing: {', '.join(lacking)}")
        return Competition(**{name: data[name] for name in _FIELDS if name != "grader"}, grader=Grader.from_dict(data["grader"]))


class Registry:
    """All competitions, with a folder of data."""

    def __init__(self, data_dir: Path = DEFAULT_DATA_DIR) -> None:
        self._data_dir = Path(data_dir).resolve()

    def get_competition(self, competition_id: str) -> Competition:
        """Find a competition.

        Raises:
            UnknownCompetition: An AssertionError and ValueError.
        """
        about = _program.show(competition_id)
        written = _program.competition_dir(competition_id)
        module = "mlebench.competitions." + competition_id
        prepared = self._data_dir / competition_id / "prepared"
        public = prepared / "public"
        files = about["files"]
        return Competition(
            id=competition_id,
            name=about["title"],
            description=_description(public, about),
            grader=Grader(about["metric"], module + ".grade:grade"),
            answers=prepared / files["answers"],
            gold_submission=prepared / files["gold"],
            sample_submission=prepared / files["sample"],
            competition_type=about["type"],
            prepare_fn=import_fn(module + ".prepare:prepare"),
            raw_dir=self._data_dir / competition_id / "raw",
            private_dir=prepared / "private",
            public_dir=public,
            checksums=written / "checksums.yaml",
            leaderboard=written / "leaderboard.csv",
        )

    def list_competition_ids(self) -> List[str]:
        """All competitions, sorted; those of mleflow's demonstration can be got, but are not listed."""
        return list(_program.competition_ids())

    def get_lite_competition_ids(self) -> List[str]:
        """Those of low complexity."""
        return _program.lite()

    def get_competitions_dir(self) -> Path:
        """A folder with leaderboard.csv and checksums.yaml of each competition."""
        for one in _program.competition_ids():
            _program.competition_dir(one)
        return _program.competitions_dir()

    def get_splits_dir(self) -> Path:
        """A folder with a file of identifiers for each set."""
        folder: Path = _program.splits_dir()
        return folder

    def get_data_dir(self) -> Path:
        return self._data_dir

    def set_data_dir(self, new_data_dir: Path) -> Registry:
        """A registry with another folder of data; this one stays as it is."""
        return Registry(new_data_dir)


def _description(public: Path, about: Dict[str, Any]) -> str:
    try:
        text = (public / "description.md").read_text(encoding="utf-8")
    except OSError:
        text = ""
    return text or about["description"] or about["title"]


registry = Registry()
