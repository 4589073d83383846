"""The data are prepared already."""

from mlebench import _shim
from mlebench._tools import (
    file_cache,
    generate_checksums,
    get_checksum,
    get_last_modified,
    get_logger,
    is_api_exception,
    is_empty,
    is_valid_prepare_fn,
    read_csv,
)
from mlebench.registry import Competition

logger = get_logger(__name__)


def is_dataset_prepared(competition, grading_only=False):
    """Whether the public data are there; those for grading are the operator's."""
    return competition.public_dir.is_dir() and not is_empty(competition.public_dir)


def create_prepared_dir(competition):
    """There is nothing to create."""


def download_and_prepare_dataset(
    competition, keep_raw=True, overwrite_checksums=False, overwrite_leaderboard=False, skip_verification=False
):
    """There is nothing to do."""
    if overwrite_leaderboard:
        _shim.refuse("leaderboard", "mlebench.data.download_and_prepare_dataset", "overwrite_leaderboard")
    logger.info("The data of %s are prepared: %s", competition.id, competition.public_dir)


def download_dataset(competition_id, download_dir, quiet=False, force=False):
    _shim.refuse("download", "mlebench.data.download_dataset", "competition_id", "download_dir")


def ensure_leaderboard_exists(competition, force=False):
    """The leaderboard's file, which has no rows."""
    if force:
        _shim.refuse("leaderboard", "mlebench.data.ensure_leaderboard_exists", "competition", "force")
    return competition.leaderboard


def get_leaderboard(competition):
    """A table without rows: scores of others are not for agents. The call is
    recorded, and the direction of the metric can be asked for with it."""
    _shim.record("leaderboard", "mlebench.data.get_leaderboard", ["competition"])
    logger.warning("The leaderboard is not in this sandbox: this table has no rows. The call was recorded.")
    return read_csv(competition.leaderboard)
