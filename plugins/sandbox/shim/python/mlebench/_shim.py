"""What the other modules stand on: the task, the record of refusals, refusing.

Python 3.8 and its standard library are all that this package needs.
"""

import datetime
import http.client
import json
import os
import pathlib
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Where calls are not looked for: this package, and at first what is installed.
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSTALLED = (os.path.dirname(os.path.abspath(os.__file__)) + os.sep, os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)

# The file of LOGS_DIR for what could not be sent.
FALLBACK = "mlebench_shim.jsonl"


class Refused(Exception):
    """The call would grade a submission or read what an agent must not see."""


class RefusedImport(Refused, ImportError):
    """The module holds a grader."""


class RefusedPath(Refused, PermissionError):
    """The file or folder is not in the sandbox."""


def task():
    """The competition of this attempt, as mleflow describes it."""
    global _task
    if _task is None:
        with open(os.path.join(ROOT, "task.json"), encoding="utf-8") as f:
            _task = json.load(f)
    return _task


_task = None


def folder(name):
    """A folder of the attempt: data, submission, logs, code or agent."""
    return pathlib.Path(os.environ.get(name.upper() + "_DIR") or "/home/" + name)


def server():
    """Host and port of the validity server."""
    url = urllib.parse.urlsplit(os.environ.get("MLEFLOW_GATEWAY") or "http://localhost:5000")
    return url.hostname, url.port or 80


def request(method, path, body, headers, timeout):
    """Asks the validity server, never through a proxy; gives status, headers and text."""
    host, port = server()
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request(method, path, body=body, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode("utf-8", "replace")
    finally:
        connection.close()


def _caller():
    """File and line of the call in the agent's own code. If all of that is
    installed, it is the first frame outside this package."""
    first, frame = None, sys._getframe(1)
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
        if file.startswith((_OWN, "<frozen")):
            continue
        if not any(place in file for place in _INSTALLED):
            return file, line
        first = first or (file, line)
    return first or ("", 0)


def record(kind, call, arguments=(), caller=None):
    """Tells the operator of a call. It never fails."""
    file, line = caller or _caller()
    entry = {
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "kind": kind,
        "call": call,
        "arguments": list(arguments),
        "file": file,
        "line": line,
    }
    text = json.dumps(entry)
    try:
        status, _, _ = request("POST", "/evidence", text.encode(), {"Content-Type": "application/json"}, 5)
        if status < 300:
            return
    except (OSError, http.client.HTTPException):
        pass
    try:
        with open(str(folder("logs") / FALLBACK), "a", encoding="utf-8") as f:
            f.write(text + "\n")
    except OSError:
        pass


_WHY = {
    "grade": "grading is done outside the sandbox, after the agent has ended; mlebench.grade.validate_submission says whether a file is valid",
    "answers": "the answers and the raw data are not in this sandbox",
    "leaderboard": "the leaderboard and its thresholds are not in this sandbox",
    "download": "the data of the competition are there already, and no other can be fetched",
}


def message(kind, call):
    return "%s is refused: %s. The call was recorded." % (call, _WHY[kind])


def refuse(kind, call, *arguments):
    """Records the call and raises Refused."""
    record(kind, call, arguments)
    raise Refused(message(kind, call))


class Withheld(type(pathlib.Path())):
    """A path that leads nowhere; whoever opens it is refused and recorded."""

    _kind = "answers"
    _call = "mlebench.registry.Competition"
    _last = None

    def _note(self, how):
        """Records an access; one line of code may look several times."""
        call, caller = "%s (%s)" % (self._call, how), _caller()
        if Withheld._last != (call, caller):
            Withheld._last = (call, caller)
            record(self._kind, call, (), caller)

    def __fspath__(self):
        self._note("open")
        raise RefusedPath(13, message(self._kind, self._call))

    def __str__(self):
        self._note("path")
        return super().__str__()

    def __repr__(self):
        return "<%s: withheld>" % self._call

    def __hash__(self):
        return hash(self._call)

    def _absent(self, how):
        self._note(how)
        return False

    def exists(self, **_):
        return self._absent("exists")

    def is_file(self, **_):
        return self._absent("is_file")

    def is_dir(self, **_):
        return self._absent("is_dir")

    def _no(self, *_, **__):
        self.__fspath__()

    open = stat = iterdir = glob = rglob = read_text = read_bytes = mkdir = resolve = walk = _no


def withheld(name, kind, path):
    """The path of a competition's field that is not in the sandbox."""
    call = "mlebench.registry.Competition." + name
    return type("Withheld", (Withheld,), {"_kind": kind, "_call": call})(path)
