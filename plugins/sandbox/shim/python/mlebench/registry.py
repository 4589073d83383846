"""The registry of competitions; one of them is here."""

from pathlib import Path

from mlebench import _shim
from mlebench.grade_helpers import Grader
from mlebench.utils import get_module_dir, get_repo_dir

DEFAULT_DATA_DIR = _shim.folder("data")


class Competition:
    """The competition of this attempt. What an agent must not see is withheld:
    the paths of answers, private and raw data lead nowhere, and the leaderboard
    has no rows."""

    def __init__(self, data_dir):
        about = _shim.task()["competition"]
        data = _shim.folder("data")
        prepared = Path(data_dir) / about["id"] / "prepared"
        self.id = about["id"]
        self.name = about["name"]
        self.competition_type = about["type"]
        self.grader = Grader(about["metric"], "mlebench.competitions.%s.grade:grade" % self.id, about["is_lower_better"])
        self.public_dir = data
        self.sample_submission = data / (about["sample"] or "sample_submission.csv")
        self.leaderboard = get_module_dir() / "competitions" / "leaderboard.csv"
        self.checksums = get_module_dir() / "competitions" / "checksums.yaml"
        self.answers = _shim.withheld("answers", "answers", prepared / "private" / "test.csv")
        self.gold_submission = _shim.withheld("gold_submission", "answers", prepared / "private" / "gold_submission.csv")
        self.private_dir = _shim.withheld("private_dir", "answers", prepared / "private")
        self.raw_dir = _shim.withheld("raw_dir", "answers", Path(data_dir) / about["id"] / "raw")

    @property
    def description(self):
        """The text that the agent was given."""
        return (self.public_dir / "description.md").read_text(encoding="utf-8")

    @staticmethod
    def prepare_fn(raw, public, private):
        _shim.refuse("answers", "mlebench.registry.Competition.prepare_fn", "raw", "public", "private")

    def __eq__(self, other):
        return isinstance(other, Competition) and other.id == self.id

    def __hash__(self):
        return hash(self.id)

    def __repr__(self):
        return "Competition(id=%r)" % self.id


class Registry:
    """What is known of the benchmark here: names, sets and one competition."""

    def __init__(self, data_dir=DEFAULT_DATA_DIR):
        self._data_dir = Path(data_dir)

    def get_competition(self, competition_id):
        """The competition of this attempt, whatever the data folder."""
        here = _shim.task()["competition"]["id"]
        if competition_id != here:
            raise ValueError("the competition %r is not in this sandbox; %r is" % (competition_id, here))
        return Competition(self._data_dir)

    def list_competition_ids(self):
        """All competitions of the benchmark, sorted."""
        return list(_shim.task()["ids"])

    def get_lite_competition_ids(self):
        """Those of low complexity."""
        return (self.get_splits_dir() / "low.txt").read_text(encoding="utf-8").splitlines()

    def get_splits_dir(self):
        """A folder with a file of identifiers for each set."""
        return get_repo_dir() / "experiments" / "splits"

    def get_competitions_dir(self):
        return get_module_dir() / "competitions"

    def get_data_dir(self):
        return self._data_dir

    def set_data_dir(self, new_data_dir):
        """A registry with another data folder. The public data stay where they are."""
        return Registry(new_data_dir)


registry = Registry()
