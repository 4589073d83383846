"""Spans, read by OpenTelemetry's own protobuf classes."""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

import mleflow

trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
from google.protobuf import json_format  # noqa: E402

Span = Any


def run(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([mleflow.binary(), *args], capture_output=True, text=True)


def spans_of(request: Any) -> list[Span]:
    return [span for rs in request.resource_spans for ss in rs.scope_spans for span in ss.spans]


def parsed(line: str) -> Any:
    """Parse OTLP JSON, whose identifiers are hexadecimal, by the JSON mapping of protobuf."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(v) for v in value]
        if isinstance(value, dict):
            ids = ("traceId", "spanId", "parentSpanId")
            return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in ids else plain(v) for k, v in value.items()}
        return value

    return json_format.ParseDict(plain(json.loads(line)), trace_service.ExportTraceServiceRequest())


def exported(run_id: str, *flags: str) -> list[Span]:
    done = run("export", "otel", run_id, *flags)
    assert done.returncode == 0, done.stderr
    return [span for line in done.stdout.splitlines() for span in spans_of(parsed(line))]


def attributes(holder: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in holder.attributes}


class Collector(http.server.ThreadingHTTPServer):
    """Keeps the spans that it gets, after a delay."""

    daemon_threads = True

    def __init__(self, delay: float = 0) -> None:
        self.spans: list[Span] = []
        self.keys: list[str] = []
        self.delay = delay
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert isinstance(self.server, Collector)
        time.sleep(self.server.delay)
        if self.path == "/v1/traces":
            self.server.keys.append(self.headers.get("x-key", ""))
            self.server.spans += spans_of(trace_service.ExportTraceServiceRequest.FromString(body))
        self.send_response(200 if self.path == "/v1/traces" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    yield server
    server.shutdown()
    server.server_close()


def test_tree(demo: mleflow.Run) -> None:
    spans = exported(demo.id)
    by_id = {s.span_id: s for s in spans}
    assert len(by_id) == len(spans) and len({s.trace_id for s in spans}) == 1
    (root,) = [s for s in spans if not s.parent_span_id]
    assert attributes(root)["mleflow.run"] == demo.id
    steps = {s["address"]: s["kind"] for s in demo.record()["steps"]}
    under = [s for s in spans if s.parent_span_id == root.span_id]
    assert {s.name: attributes(s)["mleflow.step.kind"] for s in under} == steps
    tries = [s for s in spans if attributes(s).get("gen_ai.operation.name") == "invoke_agent"]
    assert {by_id[s.parent_span_id].name for s in tries} == {a for a, kind in steps.items() if kind == "agent-run"}
    for span in spans:
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= root.end_time_unix_nano
    scores = {row["address"]: row["exact_score"] for row in json.loads(run("export", demo.id, "--format", "json").stdout)}
    assert len(scores) == 4
    for grade in (s for s in spans if attributes(s).get("mleflow.step.kind") == "grade"):
        (attempt,) = [by_id[link.span_id].name for link in grade.links]
        (result,) = [attributes(e) for e in grade.events if e.name == "gen_ai.evaluation.result"]
        assert result["gen_ai.evaluation.score.value"] == attributes(grade)["mleflow.score"] == scores[attempt]


def test_model_call(asked: mleflow.Run) -> None:
    spans = exported(asked.id)
    (call,) = [s for s in spans if s.kind == s.SPAN_KIND_CLIENT]
    got = attributes(call)
    assert call.name == "chat gpt-4o-2024-08-06"
    want = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-2024-08-06",
        "gen_ai.response.model": "gpt-4o-2024-08-06",
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 3,
    }
    assert {name: got[name] for name in want} == want
    assert [v.string_value for v in got["gen_ai.response.finish_reasons"].values] == ["stop"]
    assert got["mleflow.cost_usd"] > 0
    assert attributes([s for s in spans if s.span_id == call.parent_span_id][0])["gen_ai.operation.name"] == "invoke_agent"
    assert "seven" not in run("export", "otel", asked.id).stdout
    (call,) = [s for s in exported(asked.id, "--content") if s.kind == s.SPAN_KIND_CLIENT]
    (reply,) = json.loads(attributes(call)["gen_ai.output.messages"])
    assert reply == {"role": "assistant", "parts": [{"type": "text", "content": "<b>seven</b>"}], "finish_reason": "stop"}
    assert json.loads(attributes(call)["gen_ai.input.messages"])[-1]["role"] == "user"


def test_live_and_later_are_the_same(folder: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret%20token")
    cache = str(folder / "live-cache")
    done = run("apply", "demo.hcl", "--var", "seeds=1", "--var", "runtime=process", "--cache-dir", cache, "--otel", collector.url)
    assert done.returncode == 0 and "collector" not in done.stderr, done.stderr
    assert set(collector.keys) == {"s3cret token"}
    live = list(collector.spans)
    for file in Path(cache, "runs").rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), file
    assert live == exported("latest", "--cache-dir", cache)
    collector.spans.clear()
    done = run("export", "otel", "latest", "--cache-dir", cache, "--endpoint", collector.url, "--json")
    assert json.loads(done.stdout)["spans"] == len(live)
    assert collector.spans == live


@pytest.mark.parametrize("delay", [None, 60.0])
def test_no_collector_costs_a_run_nothing(folder: Path, delay: float | None) -> None:
    server = Collector(delay or 0)
    if delay is None:
        server.shutdown()
        server.server_close()
    cache = str(folder / f"lost-cache-{delay}")
    done = run("apply", "demo.hcl", "--var", "seeds=1", "--var", "runtime=process", "--cache-dir", cache, "--otel", server.url)
    assert done.returncode == 0 and "Done: " in done.stdout
    (told,) = [line for line in done.stderr.splitlines() if "OpenTelemetry collector" in line]
    assert "did not arrive" in told and "mleflow export otel" in told


def test_mistakes(demo: mleflow.Run) -> None:
    for args, message in [
        (["export", "otel", demo.id, "--endpoint", "localhost:4318"], "http://HOST:4318"),
        (["export", "otel", demo.id, "--endpoint", "http://me:s3cret@h"], "OTEL_EXPORTER_OTLP_HEADERS"),
        (["export", "otel", demo.id, "--endpoint", "env"], "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (["export", "otel", demo.id, "--endpoint", "http://h", "-o", "f"], "exclude each other"),
        (["apply", "demo.hcl", "--otel", "localhost:4318"], "http://HOST:4318"),
        (["apply", "demo.hcl", "--otel-content"], "--otel"),
    ]:
        done = run(*args)
        assert done.returncode == 2 and message in done.stderr and "s3cret" not in done.stderr, done.stderr
