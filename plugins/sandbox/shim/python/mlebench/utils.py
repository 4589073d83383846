"""Small tools that agents import from here."""

import difflib
import importlib
import inspect
import json
import logging
import os
import time
import uuid
import zipfile
from pathlib import Path

from mlebench import _shim

_COMPRESSED = (".zip", ".tar", ".gz", ".tgz", ".rar", ".7z")


def get_logger(name, level=logging.INFO, filename=None):
    logging.basicConfig(level=level, format="[%(asctime)s] [%(filename)s:%(lineno)d] %(message)s", filename=filename)
    return logging.getLogger(name)


logger = get_logger(__name__)


def purple(text):
    return "\033[1;35m%s\033[0m" % text


def get_timestamp():
    return time.strftime("%Y-%m-%dT%H-%M-%S-%Z", time.gmtime())


def get_module_dir():
    return Path(__file__).resolve().parent


def get_repo_dir():
    return get_module_dir().parent


def get_runs_dir():
    """Where an agent may keep runs of its own."""
    return _shim.folder("agent") / "runs"


def generate_run_id(competition_id, agent_id, run_group=None):
    one = str(uuid.uuid4())
    if run_group:
        return "%s_%s" % (competition_id, one)
    return "_".join([get_timestamp(), competition_id, agent_id, one[:8]])


def create_run_dir(competition_id=None, agent_id=None, run_group=None):
    name = generate_run_id(competition_id, agent_id, run_group) if competition_id and agent_id else str(uuid.uuid4())
    made = get_runs_dir() / (run_group or "") / name
    made.mkdir(parents=True)
    return made


def in_ci():
    return False


def is_empty(dir):
    return next(Path(dir).iterdir(), None) is None


def is_compressed(fpath):
    return Path(fpath).suffix in _COMPRESSED


def extract(compressed, dst, recursive=False, already_extracted=None):
    """Unpacks a zip archive, or a 7z archive where py7zr is installed."""
    compressed, dst = Path(compressed), Path(dst)
    done = set() if already_extracted is None else already_extracted
    with _archive(compressed, "r") as archive:
        archive.extractall(str(dst))
    done.add(compressed)
    if recursive:
        found = [p for p in dst.iterdir() if p not in done and p.suffix in (".zip", ".7z")]
        done.update(found)
        for path in found:
            extract(path, path.parent, True, done)


def compress(src, compressed, exist_ok=False):
    """Packs the files below a folder."""
    src, compressed = Path(src), Path(compressed)
    if compressed.exists() and not exist_ok:
        raise FileExistsError(str(compressed))
    with _archive(compressed, "w") as archive:
        for path in sorted(p for p in src.rglob("*") if p.is_file()):
            archive.write(str(path), arcname=str(path.relative_to(src)))


def _archive(path, mode):
    if path.suffix == ".zip":
        return zipfile.ZipFile(str(path), mode, zipfile.ZIP_DEFLATED)
    if path.suffix == ".7z":
        return importlib.import_module("py7zr").SevenZipFile(str(path), mode)
    raise NotImplementedError("archives of the kind %s are not supported" % path.suffix)


def read_csv(*args, **kwargs):
    """pandas.read_csv that reads floating-point numbers exactly; an empty file is an empty table."""
    import pandas

    try:
        return pandas.read_csv(*args, **dict({"float_precision": "round_trip"}, **kwargs))
    except pandas.errors.EmptyDataError:
        logger.warning("The file %s is empty.", args[0])
        return pandas.DataFrame()


def read_jsonl(file_path, skip_commented_out_lines=False):
    with open(file_path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    if skip_commented_out_lines:
        lines = [line for line in lines if line.strip() and not line.strip().startswith(("#", "//"))]
    return [json.loads(line) for line in lines]


def load_answers(path_to_answers):
    _shim.refuse("answers", "mlebench.utils.load_answers", "path_to_answers")


def authenticate_kaggle_api():
    _shim.refuse("download", "mlebench.utils.authenticate_kaggle_api")


def load_yaml(fpath):
    with open(str(fpath), encoding="utf-8") as f:
        return importlib.import_module("yaml").safe_load(f)


def import_fn(fn_import_string):
    module, name = fn_import_string.split(":")
    return getattr(importlib.import_module(module), name)


def get_path_to_callable(callable):
    return Path(os.path.relpath(inspect.getfile(callable)))


def get_diff(d, other_d, fromfile="d", tofile="other_d"):
    texts = [json.dumps(one, indent=2, sort_keys=True, default=str).splitlines() for one in (d, other_d)]
    return "\n".join(difflib.unified_diff(texts[0], texts[1], fromfile=fromfile, tofile=tofile, lineterm=""))
