"""Data of competitions: preparation, checksums, leaderboards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Sequence

from mlebench import _program
from mlebench._tools import file_cache as file_cache
from mlebench._tools import generate_checksums as generate_checksums
from mlebench._tools import get_checksum as get_checksum
from mlebench._tools import get_diff as get_diff
from mlebench._tools import get_last_modified as get_last_modified
from mlebench._tools import is_api_exception as is_api_exception
from mlebench._tools import is_valid_prepare_fn as is_valid_prepare_fn
from mlebench.registry import Competition
from mlebench.utils import get_logger, is_empty, read_csv

if TYPE_CHECKING:
    import pandas as pd

logger = get_logger(__name__)


def create_prepared_dir(competition: Competition) -> None:
    """Make the folders of public and private data."""
    competition.public_dir.mkdir(exist_ok=True, parents=True)
    competition.private_dir.mkdir(exist_ok=True, parents=True)


def download_and_prepare_dataset(
    competition: Competition,
    keep_raw: bool = True,
    overwrite_checksums: bool = False,
    overwrite_leaderboard: bool = False,
    skip_verification: bool = False,
) -> None:
    """Fetch the raw data, unless they are there, and split them.

    Raises:
        ValueError: Prepared files differ from their checksums.
        mleflow.Error: The data could not be fetched or prepared.
        NotImplementedError: Checksums or a leaderboard would be overwritten.
    """
    prepare_all([competition], keep_raw, overwrite_checksums, overwrite_leaderboard, skip_verification)


def prepare_all(
    competitions: Sequence[Competition],
    keep_raw: bool,
    overwrite_checksums: bool,
    overwrite_leaderboard: bool,
    skip_verification: bool,
) -> None:
    """download_and_prepare_dataset for several, side by side where they share a folder of data."""
    if overwrite_checksums:
        raise NotImplementedError("checksums are part of a competition's definition; see mleflow competition lock")
    flags = ["--keep-raw"] * keep_raw + ["--skip-verification"] * skip_verification
    folders: Dict[Path, List[Competition]] = {}
    for one in competitions:
        ensure_leaderboard_exists(one, force=overwrite_leaderboard)
        folders.setdefault(one.data_dir, []).append(one)
    for folder, members in folders.items():
        _program.prepare([one.id for one in members], folder, flags, logger.info)
        for one in members:
            logger.info("The data of %s are prepared: %s", one.id, one.public_dir.parent)


def is_dataset_prepared(competition: Competition, grading_only: bool = False) -> bool:
    """Whether the prepared data are there, or what of them grading needs."""
    assert isinstance(competition, Competition), f"a Competition is needed, not {type(competition).__name__}"
    folders = [("private", competition.private_dir)]
    files = [("answers", competition.answers)]
    if not grading_only:
        folders.insert(0, ("public", competition.public_dir))
        files.append(("sample submission", competition.sample_submission))
    for noun, folder in folders:
        if not folder.is_dir() or is_empty(folder):
            logger.warning("The folder of %s data is missing or empty: %s", noun, folder)
            return False
    for noun, file in files:
        if not file.is_file():
            logger.warning("The file of the %s is missing: %s", noun, file)
            return False
    return True


def download_dataset(competition_id: str, download_dir: Path, quiet: bool = False, force: bool = False) -> Path:
    """The archive of a competition's raw data, which must be in download_dir.

    Raises:
        NotImplementedError: It is not. mleflow downloads into its cache, when
            it prepares.
    """
    found = sorted(Path(download_dir).glob("*.zip"))
    if len(found) == 1 and not force:
        return found[0]
    raise NotImplementedError(
        f"mleflow downloads when it prepares: call download_and_prepare_dataset, or mlebench prepare -c {competition_id}"
    )


def ensure_leaderboard_exists(competition: Competition, force: bool = False) -> Path:
    """Path of the leaderboard's file.

    Raises:
        FileNotFoundError: It is missing.
        NotImplementedError: force would replace the leaderboard that grades
            are compared with.
    """
    if force:
        raise NotImplementedError(
            f"the leaderboard is part of a competition's definition; see mleflow competition lock {competition.id} --leaderboard"
        )
    if not competition.leaderboard.exists():
        raise FileNotFoundError(f"the leaderboard of {competition.id} is missing: {competition.leaderboard}")
    return competition.leaderboard


def get_leaderboard(competition: Competition) -> pd.DataFrame:
    """The scores of the human teams, best first: the column score."""
    assert competition.leaderboard.exists(), f"the leaderboard of {competition.id} is missing: {competition.leaderboard}"
    return read_csv(competition.leaderboard)
