"""Tables as pandas, polars or plain Python."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import json
import math
from typing import Any, Dict, List, Literal, Optional

Frame = Literal["pandas", "polars", "records"]
"""What a table is: a pandas or polars data frame, or a list of dictionaries."""

Record = Dict[str, Any]
"""A row: values by column. A missing value is None."""

_INFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

# Columns of attempts that may be infinite, which JSON has as strings.
_SUFFIXES = ("score", "_margin", "_threshold", "_places")


def installed(module: str) -> bool:
    """Say whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def choose(frame: Optional[Frame]) -> Frame:
    """Settle what a table is: what was asked for, else pandas if it is there.

    Raises:
        ValueError: The name is unknown.
        ImportError: The library asked for is not installed.
    """
    if frame is None:
        return "pandas" if installed("pandas") else "records"
    if frame not in ("pandas", "polars", "records"):
        raise ValueError(f'frame is {frame!r}, not "pandas", "polars" or "records"')
    if frame != "records" and not installed(frame):
        raise ImportError(f'frame="{frame}" needs the package {frame}')
    return frame


def export_format(frame: Frame) -> str:
    """Format in which the program should export a table: arrow or json."""
    if frame == "polars" or (frame == "pandas" and installed("pyarrow")):
        return "arrow"
    return "json"


def read_export(data: bytes, frame: Frame) -> Any:
    """Read a table in the format that export_format named."""
    if export_format(frame) == "json":
        return make([numbers(row) for row in json.loads(data)], frame)
    if frame == "polars":
        return importlib.import_module("polars").read_ipc(io.BytesIO(data))
    feather = importlib.import_module("pyarrow.feather")
    return feather.read_table(io.BytesIO(data)).to_pandas()


def make(rows: List[Record], frame: Frame) -> Any:
    """Make a table of rows that have the same columns."""
    if frame == "pandas":
        return importlib.import_module("pandas").DataFrame(rows)
    if frame == "polars":
        return importlib.import_module("polars").DataFrame(rows, infer_schema_length=None)
    return rows


def read_csv(data: bytes, frame: Frame) -> Any:
    """Read a CSV file with a header. Without a library, values are strings."""
    if frame == "pandas":
        return importlib.import_module("pandas").read_csv(io.BytesIO(data))
    if frame == "polars":
        return importlib.import_module("polars").read_csv(io.BytesIO(data), infer_schema_length=None)
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def write_csv(table: Any) -> bytes:
    """Write a table as CSV, without an index.

    Args:
        table: A pandas or polars data frame, a pyarrow table, or a list of
            dictionaries with the same keys.

    Raises:
        TypeError: It is none of these, or an empty list.
    """
    if hasattr(table, "write_csv"):  # polars
        return str(table.write_csv()).encode()
    if hasattr(table, "to_csv"):  # pandas
        return str(table.to_csv(index=False)).encode()
    if hasattr(table, "to_pylist"):  # pyarrow
        out = io.BytesIO()
        importlib.import_module("pyarrow.csv").write_csv(table, out)
        return out.getvalue()
    if isinstance(table, (list, tuple)) and table and all(isinstance(row, dict) for row in table):
        lines = io.StringIO(newline="")
        writer = csv.DictWriter(lines, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
        return lines.getvalue().encode()
    raise TypeError(f"a submission is a path, a data frame or a list of dictionaries, not {type(table).__name__}")


def numbers(row: Record) -> Record:
    """Replace the strings for infinite scores and NaN by floats."""
    return {key: number(value) if key.endswith(_SUFFIXES) or "score_at_" in key else value for key, value in row.items()}


def number(value: Any) -> Any:
    """Replace the strings inf, -inf and nan by floats."""
    return _INFINITE.get(value, value) if isinstance(value, str) else value
