"""Values of a pipeline's variables, as a file of HCL."""

from __future__ import annotations

import contextlib
import json
import numbers
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Sequence

from ._errors import Diagnostic

# Escapes of JSON that HCL does not have, and the beginnings of HCL's templates.
_ESCAPES = {"\\b": "\\u0008", "\\f": "\\u000c", "${": "$${", "%{": "%%{"}
_ESCAPED = re.compile(r"\\.|\$\{|%\{")


@contextlib.contextmanager
def flags(values: Optional[Mapping[str, Any]]) -> Iterator[List[str]]:
    """Write variables to a file that exists within the context, and give the flags that name it.

    A file keeps types and null, and no secret is in the list of processes.

    Raises:
        ValueError: A name is not an identifier, or a number is not finite.
        TypeError: A value has no counterpart in HCL.
    """
    if not values:
        yield []
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "variables.hcl")
        path.write_text(encode(values), "utf-8")
        yield [f"--var-file={path}"]


def without_file(diagnostics: Sequence[Diagnostic], given: Sequence[str]) -> List[Diagnostic]:
    """Remove positions in the file of flags, which its caller never saw."""
    files = [flag.partition("=")[2] for flag in given]
    return [replace(d, position=None) if d.position and d.position.filename in files else d for d in diagnostics]


def _plain(value: Any) -> Any:
    """Return a path, pandas' NA, or a number or array of NumPy as JSON has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if type(value).__name__ == "NAType":
        return None
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("b", "i", "u", "f", "U", "O") and hasattr(value, "tolist"):
        plain = value.tolist()
        if type(plain) is not type(value):
            return plain
    raise TypeError(f"HCL has no value of type {type(value).__name__}; give a string, number, bool, list or dict")


def encode(values: Mapping[str, Any]) -> str:
    """Write variables as HCL, one a line.

    Raises:
        ValueError, TypeError: As of flags.
    """
    lines = []
    for name, value in values.items():
        if name.startswith("-") or not name.replace("-", "_").isidentifier():
            raise ValueError(f"{name!r} is not the name of a variable")
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
        except (TypeError, ValueError) as err:
            raise type(err)(f"variable {name}: {err}") from None
        text = _ESCAPED.sub(lambda m: _ESCAPES.get(m.group(), m.group()), text)
        lines.append(f"{name} = {text}\n")
    return "".join(lines)
