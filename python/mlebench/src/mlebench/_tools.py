"""Tools without a part in grading, the same in a sandbox and on a host.

Python 3.8 and its standard library are all that this module needs; pandas,
PyYAML and py7zr are imported by the functions that use them.
"""

import datetime
import difflib
import functools
import importlib
import inspect
import json
import logging
import os
import time
import uuid
import zipfile
from pathlib import Path

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
    return Path(os.path.abspath(__file__)).parent


def get_repo_dir():
    return get_module_dir().parent


def generate_run_id(competition_id, agent_id, run_group=None):
    one = str(uuid.uuid4())
    if run_group:
        return "%s_%s" % (competition_id, one)
    return "_".join([get_timestamp(), competition_id, agent_id, one[:8]])


def in_ci():
    return os.environ.get("GITHUB_ACTIONS") == "true"


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


def get_last_modified(fpath):
    return datetime.datetime.fromtimestamp(os.stat(fpath).st_mtime)


def file_cache(fn):
    """Remembers the results of a function of one path until the file is modified."""
    parameters = list(inspect.signature(fn).parameters.values())
    if len(parameters) != 1 or parameters[0].annotation not in (Path, "Path"):
        raise NotImplementedError("a function to cache takes one argument, annotated as Path")
    known = {}

    @functools.wraps(fn)
    def remembered(fpath):
        key = (os.fspath(fpath), os.stat(fpath).st_mtime_ns)
        if key not in known:
            known[key] = fn(fpath)
        return known[key]

    return remembered


@file_cache
def get_checksum(fpath: Path) -> str:
    """MD5 of a file, in hexadecimal."""
    md5 = importlib.import_module("hashlib").md5()
    with open(fpath, "rb") as f:
        for piece in iter(lambda: f.read(1 << 20), b""):
            md5.update(piece)
    return md5.hexdigest()


def generate_checksums(target_dir, exts=None, exclude=None):
    """MD5 of each file directly in a folder, by name; of tables and JSON unless exts says otherwise."""
    suffixes = ["." + ext for ext in exts or ("csv", "json", "jsonl", "parquet", "bson")]
    found = {}
    folder = target_dir if isinstance(target_dir, Path) else Path(target_dir)
    for path in sorted(folder.glob("*")):
        if path.suffix in suffixes and path.is_file() and path not in (exclude or ()):
            found[path.name] = get_checksum(path)
    return found


def is_valid_prepare_fn(preparer_fn):
    """Whether the arguments of a function are raw, public and private."""
    try:
        return list(inspect.signature(preparer_fn).parameters) == ["raw", "public", "private"]
    except (TypeError, ValueError):
        return False


def is_api_exception(exception):
    """Whether Kaggle's client raised it."""
    return any(base.__name__ == "ApiException" for base in type(exception).__mro__)
