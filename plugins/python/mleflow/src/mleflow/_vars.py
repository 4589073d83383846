"""Values of a pipeline's variables, as the program's flags."""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping, Optional

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def flags(values: Optional[Mapping[str, Any]]) -> List[str]:
    """Write variables as flags.

    Raises:
        ValueError: A name is not an identifier.
        TypeError: A value has no counterpart in HCL.
    """
    args = []
    for name, value in (values or {}).items():
        if not _NAME.match(name):
            raise ValueError(f"{name!r} is not the name of a variable")
        args.append(f"--var={name}={value if isinstance(value, str) else _literal(value)}")
    return args


def _literal(value: Any) -> str:
    """Write a number, boolean, list or dictionary as HCL, which reads JSON but for its templates."""
    return json.dumps(value, allow_nan=False).replace("${", "$${").replace("%{", "%%{")
