"""A server, mleflow serve, by its HTTP API."""

from __future__ import annotations

import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._binary import call, text
from ._errors import Diagnostic, Error
from ._frames import Record
from ._rollout import Rollout, again
from ._vars import flags

# Seconds between two looks at a submission, and that a quiet connection may take.
_LOOK, _QUIET = 1.0, 60.0


def connect(url: str, token: Optional[str] = None) -> Server:
    """Connect to a server.

    Args:
        url: Its address, such as ``"https://mleflow.lab.example"``; it may have a path.
        token: The token; by default that of ``MLEFLOW_TOKEN``.

    Raises:
        Error: The server cannot be reached, or does not know the token.
    """
    server = Server(url, token)
    server.user = str(server._ask("GET", "whoami")["name"])
    return server


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which could take the token elsewhere."""

    def redirect_request(self, *args: Any) -> None:
        return None


class Submission:
    """A pipeline that was submitted to a server.

    Attributes:
        id: Its id.
        owner: Who submitted it.
    """

    def __init__(self, server: Server, entry: Mapping[str, Any]) -> None:
        """Take what the server says of a submission."""
        self._server, self._entry = server, entry
        self.id, self.owner = str(entry["id"]), str(entry["owner"])

    def __repr__(self) -> str:
        return f"Submission({self.id!r}, state={self.state!r})"

    @property
    def state(self) -> str:
        """State when the server was last asked: queued, running, ended or cancelled."""
        return str(self._entry["state"])

    @property
    def run(self) -> Optional[str]:
        """Id of its latest run; None before the first."""
        return self._entry.get("run") or None

    @property
    def exit_status(self) -> int:
        """Exit status of the pipeline once it has ended, as of ``mleflow apply``."""
        return int(self._entry.get("exit", 0))

    def refresh(self) -> Submission:
        """Ask the server for its state, and return it."""
        self._entry = self._server._ask("GET", f"submissions/{_part(self.id)}")
        return self

    def wait(self, timeout: Optional[float] = None) -> Submission:
        """Wait until it has ended, and return it.

        Args:
            timeout: Wait at most so many seconds.

        Raises:
            Error: It failed or was cancelled. Its ``run`` names the run.
            TimeoutError: It has not ended in time.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while self.refresh().state not in ("ended", "cancelled"):
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"submission {self.id} is {self.state}")
            time.sleep(_LOOK)
        if self.state == "cancelled" or self.exit_status:
            said = self.messages().strip().splitlines()[-20:]
            why = self.state if self.state == "cancelled" else "\n".join(said)
            raise Error(["submit"], self.exit_status or 130, [Diagnostic(why or "it failed")], self.run)
        return self

    def output(self) -> str:
        """Return what it printed."""
        return self._server._send("GET", f"submissions/{_part(self.id)}/output").decode("utf-8", "replace")

    def messages(self) -> str:
        """Return what it printed on standard error."""
        return self._server._send("GET", f"submissions/{_part(self.id)}/messages").decode("utf-8", "replace")

    def cancel(self) -> Submission:
        """Take it out of the queue, or end its run and the agents of it."""
        return self._act("cancel", {})

    def set_priority(self, priority: int) -> Submission:
        """Change its priority; the greatest runs first, and only an admin may set one above 0."""
        return self._act("priority", {"priority": priority})

    def publish(self, public: bool = True) -> Optional[str]:
        """Make a link of its run for people who are not signed in, or remove it; return the link."""
        return self._act("publish", {"public": public})._entry.get("link") or None

    def _act(self, act: str, body: Mapping[str, Any]) -> Submission:
        self._entry = self._server._ask("POST", f"submissions/{_part(self.id)}/{act}", body)
        return self


class Server:
    """A server.

    Attributes:
        url: Its address.
        user: Name of the person whose token is used.
    """

    def __init__(self, url: str, token: Optional[str] = None) -> None:
        """Name a server; ``connect`` also asks it who is signed in."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError(f"{url!r} is not the address of a server, such as https://mleflow.lab.example")
        self.url, self.user = url.rstrip("/"), ""
        self._token = os.environ.get("MLEFLOW_TOKEN", "") if token is None else token
        self._open = urllib.request.build_opener(_NoRedirect).open

    def __repr__(self) -> str:
        return f"Server({self.url!r}, user={self.user!r})"

    def runs(self, limit: int = 100) -> List[Record]:
        """List its runs, newest first, as ``mleflow runs --json`` does."""
        return list(self._ask("GET", f"runs?limit={int(limit)}")["runs"] or [])

    def run(self, run: str) -> Record:
        """Return a run, as ``mleflow show --json`` does."""
        return dict(self._ask("GET", f"runs/{_part(run)}"))

    def attempts(self, run: str) -> List[Record]:
        """List the attempts of a run, as ``mleflow attempts list --json`` does."""
        return list(self._ask("GET", f"runs/{_part(run)}/attempts")["attempts"] or [])

    def leaderboard(self, run: str) -> Record:
        """Return the leaderboard of a run, as ``mleflow leaderboard --json`` does."""
        return dict(self._ask("GET", f"runs/{_part(run)}/leaderboard"))

    def events(self, run: str) -> Iterator[Record]:
        """Yield the events of a run, also those to come, until it has ended."""
        last = ""
        while True:
            try:
                with self._request("GET", f"runs/{_part(run)}/events", None, {"Last-Event-ID": last} if last else {}) as answer:
                    for name, number, data in _stream(answer):
                        if name == "end":
                            return
                        if data:
                            yield json.loads(data)
                        last = number or last
            except OSError:  # the connection broke: it continues where it was
                pass
            time.sleep(_LOOK)

    def submissions(self) -> List[Submission]:
        """List submissions, newest first."""
        return [Submission(self, e) for e in self._ask("GET", "submissions")["submissions"] or []]

    def submission(self, id: str) -> Submission:
        """Return a submission by its id."""
        return Submission(self, self._ask("GET", f"submissions/{_part(id)}"))

    def submit(
        self,
        pipeline: Union[str, "os.PathLike[str]"],
        variables: Optional[Mapping[str, Any]] = None,
        *,
        priority: int = 0,
        args: Sequence[str] = (),
    ) -> Submission:
        """Submit a pipeline with the files that it reads, and return at once.

        Args:
            pipeline: Path of the pipeline's file.
            variables: Values of its variables, as of ``apply``.
            priority: The greatest runs first; above 0 only an admin may.
            args: More arguments of ``mleflow apply``, such as ``["--keep-going"]``.

        Raises:
            Error: The pipeline is invalid, or the server refuses it.
        """
        words = ["apply", f"--server={self.url}", "--detach", f"--priority={int(priority)}", *args]
        with flags(variables) as given:
            out, _ = call([*words, *given, "--", os.fspath(pipeline)], env={"MLEFLOW_TOKEN": self._token})
        return self.submission(text(out).strip())

    def roll_out(
        self,
        agent: str,
        competition: str,
        *,
        data: Union[str, Mapping[str, int]] = "full",
        seed: Optional[int] = None,
        model: Optional[Mapping[str, str]] = None,
        limits: Optional[Mapping[str, Any]] = None,
        reward: Optional[str] = None,
        on: str = "test",
        key: Optional[str] = None,
    ) -> Rollout:
        """Start a rollout: an attempt with a reward and, if the model block records them, tokens.

        Args:
            agent: Name of an agent in the server's pipeline of rollouts.
            competition: Id of the competition.
            data: "full", "rehearsal", or ``{"micro": N, "seed": S}``.
            seed: Seed of the attempt. The same seed with the same of everything else is the same attempt, and takes its
                result from the cache. By default one that follows from the key: each new key is a new attempt.
            model: Members ``block``, ``name`` and ``base_url``: the model block, and the model and address that
                replace its own.
            limits: Members ``time``, ``turns``, ``tokens`` and ``cost``, such as ``{"time": "10m", "turns": 20}``.
            reward: "medal", "rank", "margin" or "percentile"; in a rehearsal "sample" or "margin".
            on: "test" or "validation".
            key: Idempotency key: a second call with it returns the first one's rollout. By default a new one.

        Raises:
            Error: The server refuses it, or cannot be reached.
        """
        given = {"model": model, "limits": limits, "reward": {"on": on, **({"kind": reward} if reward else {})}}
        key = key or uuid.uuid4().hex
        seed = zlib.crc32(key.encode()) if seed is None else seed
        body = {"key": key, "agent": agent, "competition": competition, "data": data, "seed": seed, **{k: dict(v) for k, v in given.items() if v}}
        return Rollout(self, again(lambda: self._ask("POST", "rollouts", body)))

    def rollout(self, id: str) -> Rollout:
        """Return a rollout by its id."""
        return Rollout(self, self._ask("GET", f"rollouts/{_part(id)}"))

    def stop(self, run: str, attempts: Union[str, Sequence[str]], reason: str = "") -> List[Record]:
        """End attempts now; what was submitted is graded. Attempts are agent/competition/seed, with * for any."""
        return self._steer(run, "stop", attempts, reason)

    def cancel(self, run: str, attempts: Union[str, Sequence[str]], reason: str = "") -> List[Record]:
        """End attempts and keep nothing."""
        return self._steer(run, "cancel", attempts, reason)

    def requeue(self, run: str, attempts: Union[str, Sequence[str]], reason: str = "") -> List[Record]:
        """End attempts and put them back."""
        return self._steer(run, "requeue", attempts, reason)

    def extend(self, run: str, attempts: Union[str, Sequence[str]], *, by: str = "", budget: str = "", reason: str = "") -> List[Record]:
        """Give attempts more time, such as by="2h", or their models more money, such as budget="+5USD"."""
        return self._steer(run, "extend", attempts, reason, by=by, budget=budget)

    def drain(self, run: str, reason: str = "") -> List[Record]:
        """Start nothing new in a run, and finish what runs."""
        return list(self._ask("POST", f"runs/{_part(run)}", {"act": "drain", "reason": reason})["answers"] or [])

    def _steer(self, run: str, act: str, attempts: Union[str, Sequence[str]], reason: str, **more: str) -> List[Record]:
        names = [attempts] if isinstance(attempts, str) else list(attempts)
        body: Dict[str, Any] = {"act": act, "attempts": names, "reason": reason, **more}
        return list(self._ask("POST", f"runs/{_part(run)}/attempts", body)["answers"] or [])

    def _ask(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        return json.loads(self._send(method, path, body))

    def _send(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> bytes:
        try:
            with self._request(method, path, body, {}) as answer:
                return bytes(answer.read())
        except OSError as e:
            raise Error([method, path], 1, [Diagnostic(f"{self.url} cannot be reached: {e}")]) from e

    def _request(self, method: str, path: str, body: Optional[Mapping[str, Any]], headers: Mapping[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, {**headers, "Content-Type": "application/json"}, method=method)
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            return self._open(request, timeout=_QUIET)
        except urllib.error.HTTPError as e:
            with e:
                answer = e.read(64 << 10)
            try:
                said = str(json.loads(answer)["error"])
            except (ValueError, KeyError, TypeError):
                said = str(e.reason)
            later = e if e.code in (429, 503) else None
            raise Error([method, path], 1, [Diagnostic(f"the server says: {said} ({e.code})")]) from later


def _part(name: str) -> str:
    """A name as one part of a path."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or set(name) <= {"."}:
        raise ValueError(f"{name!r} is not an id")
    return name


def _stream(answer: Any) -> Iterator[tuple[str, str, str]]:
    """Yield name, number and data of server-sent events."""
    name, number, data = "", "", ""
    for line in answer:
        field, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            name = value
        elif field == "id":
            number = value
        elif field == "data":
            data += value
        elif not field and not value:
            yield name, number, data
            name, number, data = "", "", ""
