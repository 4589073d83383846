"""The program: where it is, and how it is called."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from ._errors import Error, NotInstalled, parse

Line = Callable[[str], None]
PathLike = Union[str, "os.PathLike[str]"]

# Lines of standard error that are kept for diagnostics; a long run prints more.
_KEPT_LINES = 2000
_INSTALL = "https://github.com/mleflow/mleflow#readme"


def binary() -> str:
    """Find the program.

    It is the variable ``MLEFLOW_BINARY``, else the script that was installed
    with the package, else another of this Python environment, else the first
    ``mleflow`` on ``PATH``.

    Returns:
        Its path.

    Raises:
        NotInstalled: There is none.
    """
    named = os.environ.get("MLEFLOW_BINARY")
    if named:
        found = shutil.which(os.path.expanduser(named))
        if found is None:
            raise NotInstalled(f"MLEFLOW_BINARY is {named!r}, which is not an executable file")
        return found
    for folder in [*_beside_package(), sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]:
        script = Path(folder) / "mleflow"
        if script.is_file() and os.access(script, os.X_OK):
            return str(script)
    found = shutil.which("mleflow")
    if found is None:
        raise NotInstalled(
            "the program mleflow is neither beside Python nor on PATH. Wheels of the package have it, a source"
            " distribution does not: install a wheel for this platform, or install the program as"
            f" {_INSTALL} says, or set MLEFLOW_BINARY to its path"
        )
    return found


def _beside_package() -> list[str]:
    """Folders of scripts that belong to where the package was installed.

    ``pip install --target`` has them in ``bin`` beside the package, environments,
    ``--user`` and ``--prefix`` in ``bin`` beside ``lib``. Of these the environment
    that runs may be another, as with ``uv run --with``.
    """
    site = Path(__file__).parent.parent
    folders = [str(site / "bin")]
    if site.name in ("site-packages", "dist-packages") and len(site.parents) > 2:
        folders.append(str(site.parents[2] / "bin"))
    return folders


def version() -> str:
    """Version of the program, such as ``"0.1.0"``."""
    return str(call_json(["version"])["version"])


def operand(value: PathLike, noun: str) -> str:
    """Check an argument that must not be read as a flag.

    Raises:
        ValueError: It is empty, or begins with a dash.
    """
    text = os.fspath(value)
    if not text or text.startswith("-"):
        raise ValueError(f"{text!r} is not a {noun}")
    return text


def call(args: Sequence[str], accept: Iterable[int] = (0,), env: Optional[Mapping[str, str]] = None) -> tuple[bytes, int]:
    """Run the program to its end.

    Args:
        args: Verb and arguments.
        accept: Exit statuses that are no error.
        env: Variables of its environment besides those of this process.

    Returns:
        Its standard output and exit status.

    Raises:
        Error: Any other exit status.
        NotInstalled: There is no program.
    """
    done = subprocess.run([binary(), *args], stdin=subprocess.DEVNULL, capture_output=True, check=False, env={**os.environ, **(env or {})})
    if done.returncode not in accept:
        raise Error(args, done.returncode, parse(text(done.stderr)), result=json_or_none(done.stdout))
    return done.stdout, done.returncode


def call_json(args: Sequence[str], accept: Iterable[int] = (0,)) -> Any:
    """Run the program with ``--json``, and decode what it prints.

    Raises:
        Error: As of call; also if the output is not JSON.
    """
    args = [*args, "--json"]
    out, status = call(args, accept)
    try:
        return json.loads(out)
    except ValueError as err:
        raise Error(args, status, parse(f"Error: the output is not JSON: {err}")) from err


def text(data: bytes) -> str:
    """Decode UTF-8; bytes that are not become U+FFFD."""
    return data.decode("utf-8", "replace")


def json_or_none(data: Union[bytes, str]) -> Any:
    """Decode JSON, or return None."""
    try:
        return json.loads(data)
    except ValueError:
        return None


def stream(args: Sequence[str], on_out: Line, on_err: Optional[Line] = None) -> tuple[int, str]:
    """Run the program, and pass on its lines as they come.

    An exception of on_out, KeyboardInterrupt included, interrupts the program,
    waits until it has stopped cleanly, and is raised again. Another Ctrl-C
    meanwhile interrupts the program once more.

    Args:
        args: Verb and arguments.
        on_out: Called in this thread with each line of standard output.
        on_err: Called in another thread with each line of standard error.

    Returns:
        The exit status, and the last lines of standard error.
    """
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    # A session of its own: Ctrl-C reaches this process only, which interrupts
    # the program once. A second signal would make it give up on a clean stop.
    process = subprocess.Popen(
        [binary(), *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None

    def drain(pipe: Iterable[bytes]) -> None:
        for line in pipe:
            kept.append(text(line).rstrip("\n"))
            if on_err is not None:
                on_err(kept[-1])

    reader = threading.Thread(target=drain, args=(process.stderr,), daemon=True)
    reader.start()
    with process.stdout as out, process.stderr:
        try:
            for line in out:
                on_out(text(line).rstrip("\n"))
        except BaseException:
            _interrupt(process, out)
            raise
        finally:
            status = process.wait()
            reader.join()
    return status, "\n".join(kept)


def _interrupt(process: subprocess.Popen[bytes], out: Iterable[bytes]) -> None:
    """Interrupt the program, and read on until it ends: a full pipe would keep it from stopping."""
    while True:
        try:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            for _ in out:
                pass
            return
        except KeyboardInterrupt:
            continue
