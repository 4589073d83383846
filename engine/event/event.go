// Package event defines the facts that a run emits, in the order in which they
// happened. The engine prints nothing: the terminal view, the plain log, the
// JSON lines, the run's journal and the report all read events.
//
// In JSON, an event is one object with its "type" (see Encode) and its fields.
// Times are RFC 3339 with nanoseconds in UTC, durations integers in
// milliseconds, sizes bytes.
package event

import (
	"encoding/json"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/step"
)

// Event is one fact. The set is closed: only this package defines members.
type Event interface {
	// EventType is the value of "type" in JSON.
	EventType() string
	// When is the time the fact happened.
	When() time.Time
}

// Sink receives events, one at a time. Emit must not block for long: the
// engine waits for it.
type Sink interface{ Emit(Event) }

// SinkFunc lets a function be a Sink.
type SinkFunc func(Event)

// Emit implements Sink.
func (f SinkFunc) Emit(e Event) { f(e) }

// Multi returns a Sink that passes each event to every sink in order.
func Multi(sinks ...Sink) Sink {
	return SinkFunc(func(e Event) {
		for _, s := range sinks {
			s.Emit(e)
		}
	})
}

// At is the time of an event; it is part of every member.
type At struct {
	Time time.Time `json:"time"`
}

// When implements Event.
func (a At) When() time.Time { return a.Time }

// Status is how a step instance ended.
type Status string

// The ways a step instance can end.
const (
	// Ran: the step was executed and its outputs recorded.
	Ran Status = "ran"
	// Cached: the outputs of an earlier execution were used.
	Cached Status = "cached"
	// Failed: the step was executed and failed permanently.
	Failed Status = "failed"
	// Skipped: not executed because something it depends on failed.
	Skipped Status = "skipped"
	// Cancelled: interrupted, or not started because the run was stopping.
	Cancelled Status = "cancelled"
)

// RunStarted opens every run.
type RunStarted struct {
	At
	Run      string `json:"run"`
	Pipeline string `json:"pipeline"`
	// Steps is the number of instances in the run; ToRun, Cached and Deferred
	// are what the plan predicts of them.
	Steps    int `json:"steps"`
	ToRun    int `json:"to_run"`
	Cached   int `json:"cached"`
	Deferred int `json:"deferred"`
	// Resumed names the earlier run of the pipeline that did not end, if any.
	Resumed string `json:"resumed,omitempty"`
	// ExpectedMillis is how long the run is expected to take, 0 if unknown; see
	// ExpectedEnd.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// Blocks are the step blocks in dependency order.
	Blocks []Block `json:"blocks,omitempty"`
}

// StepStarted says that an attempt of an instance began.
type StepStarted struct {
	At
	Address string `json:"address"`
	Kind    string `json:"kind"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// ExpectedMillis is how long it took last time or, if it has not run before,
	// how long other steps of its block took; 0 if unknown.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// CPUs, MemoryBytes and Devices are what the attempt has leased.
	CPUs        float64  `json:"cpus,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	Devices     []string `json:"devices,omitempty"`
	// On is the backend of the cluster file on which it runs; empty for this
	// machine. StepJob follows.
	On string `json:"on,omitempty"`
}

// StepJob says how the job of an attempt is doing that runs on a backend of a
// cluster. It replaces the previous one.
type StepJob struct {
	At
	Address string `json:"address"`
	// On is the backend, Job the name of the job there.
	On  string `json:"on"`
	Job string `json:"job"`
	// State is "queued" (max_jobs run), "pending" (the cluster has not started a
	// worker), "running", "ended" (the machines have given up, and it is started
	// again), or "left" (it goes on without this process).
	State string `json:"state"`
	// Node is where it runs or ran; empty if nowhere yet.
	Node string `json:"node,omitempty"`
	// Starts is how often a worker was started, GPUs how many it has each.
	Starts int `json:"starts,omitempty"`
	GPUs   int `json:"gpus,omitempty"`
	// Adopted says that it was started by another process.
	Adopted bool `json:"adopted,omitempty"`
	// Reason is why it waits or failed, one word of the cluster; Message is its
	// sentence.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// The states of a job.
const (
	JobQueued  = "queued"
	JobPending = "pending"
	JobRunning = "running"
	JobEnded   = "ended"
	JobLeft    = "left"
)

// StepProgress is the progress of an attempt.
type StepProgress struct {
	At
	Address string `json:"address"`
	step.Progress
}

// StepWaiting says that an attempt waits until others release what it needs. It
// ends with the next StepProgress or the end of the step.
type StepWaiting struct {
	At
	Address string `json:"address"`
	// Bytes is the disk space it waits for, and Holders how many steps of this
	// run hold some.
	Bytes   int64  `json:"bytes"`
	Holders int    `json:"holders,omitempty"`
	Message string `json:"message"`
}

// Preflight is what was found out, before the first step ran, about something
// that a step would fetch.
type Preflight struct {
	At
	Address string `json:"address"`
	// Subject is what would be fetched, such as a competition, and Place where it
	// comes from.
	Subject string `json:"subject"`
	Place   string `json:"place,omitempty"`
	// Bytes and Files are the size of the transfer, 0 if unknown.
	Bytes int64 `json:"bytes,omitempty"`
	Files int   `json:"files,omitempty"`
	// NeedBytes is the disk space that the step is expected to need.
	NeedBytes int64 `json:"need_bytes,omitempty"`
	// Credential and Rules are "ok", "missing", "unknown", or empty if they do not
	// apply; Link is where to get what is missing.
	Credential string `json:"credential,omitempty"`
	Rules      string `json:"rules,omitempty"`
	Link       string `json:"link,omitempty"`
	// Verdict is "ok", "failed" (the step will not be started) or "unknown" (the
	// step will be tried).
	Verdict string `json:"verdict"`
	// Error is the cause of a failure, Note additional information.
	Error string `json:"error,omitempty"`
	Note  string `json:"note,omitempty"`
}

// The verdicts of a preflight.
const (
	PreflightOK      = "ok"
	PreflightFailed  = "failed"
	PreflightUnknown = "unknown"
)

// PreflightFinished closes the Preflight events of a run.
type PreflightFinished struct {
	At
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
	// Bytes is the sum of the transfers, NeedBytes that of the disk space, of
	// those that did not fail.
	Bytes     int64 `json:"bytes"`
	NeedBytes int64 `json:"need_bytes"`
}

// StepLog is one line that a step wrote, without its newline.
type StepLog struct {
	At
	Address string `json:"address"`
	Line    string `json:"line"`
}

// StepRetry says that an attempt failed and another will follow.
type StepRetry struct {
	At
	Address    string `json:"address"`
	Attempt    int    `json:"attempt"`
	WaitMillis int64  `json:"wait_ms"`
	Error      string `json:"error"`
}

// StepFinished says how an instance ended.
type StepFinished struct {
	At
	Address        string `json:"address"`
	Kind           string `json:"kind"`
	Status         Status `json:"status"`
	Action         string `json:"action,omitempty"`
	Attempts       int    `json:"attempts,omitempty"`
	DurationMillis int64  `json:"duration_ms"`
	// Error is the cause of a failure; for Skipped, the failed address.
	Error string `json:"error,omitempty"`
	// Outputs maps output names to digests (content) or JSON (values).
	Outputs map[string]string `json:"outputs,omitempty"`
	// Conditions are the conditions of the outputs, "key=value".
	Conditions []string `json:"conditions,omitempty"`
	// Tries are the tries at the action, if there were several or the result is
	// not final.
	Tries *cache.Tries `json:"tries,omitempty"`
	// MadeIn is, for a cached step, the run that executed it and has its log.
	MadeIn string `json:"made_in,omitempty"`
	// On and Node are where the last attempt ran, if not on this machine, and GPUs
	// how many it had there.
	On   string `json:"on,omitempty"`
	Node string `json:"node,omitempty"`
	GPUs int    `json:"gpus,omitempty"`
	// FetchedBytes and StoredBytes are what was moved from and to the remote cache
	// for it there.
	FetchedBytes int64 `json:"fetched_bytes,omitempty"`
	StoredBytes  int64 `json:"stored_bytes,omitempty"`
}

// RunFinished closes every run that ended by itself. A run without it was
// killed.
type RunFinished struct {
	At
	Run string `json:"run"`
	// Status is Ran on success, else Failed or Cancelled.
	Status         Status `json:"status"`
	Ran            int    `json:"ran"`
	Cached         int    `json:"cached"`
	Failed         int    `json:"failed"`
	Skipped        int    `json:"skipped"`
	Cancelled      int    `json:"cancelled"`
	DurationMillis int64  `json:"duration_ms"`
}

// OutputValue is a value of the pipeline's output block, emitted at the end.
type OutputValue struct {
	At
	Name string `json:"name"`
	// Value is a string as it is, any other value in JSON.
	Value string `json:"value"`
	// IsString distinguishes a string from a value in JSON.
	IsString bool `json:"is_string,omitempty"`
	// Content describes a value that is content.
	Content *Content `json:"content,omitempty"`
}

// JSON returns the value in JSON; content is its kind and digest.
func (o OutputValue) JSON() json.RawMessage {
	if !o.IsString && json.Valid([]byte(o.Value)) {
		return json.RawMessage(o.Value)
	}
	text, _ := json.Marshal(o.Value) // a string
	return text
}

// Content is a blob or tree that a step produced.
type Content struct {
	// From and Output name the instance and its output.
	From   string `json:"from"`
	Output string `json:"output"`
	// Kind is "blob" or "tree", Bytes its size and Files, of a tree, the number
	// of files.
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	Files int64  `json:"files,omitempty"`
}

// Publishing tells once a second how much of results is written to a path after the
// run. It is not in the ledger.
type Publishing struct {
	At
	// From and To are those of Published.
	From string `json:"from"`
	To   string `json:"to"`
	step.Progress
}

// Published says that results were written to a path after the run, or why not.
type Published struct {
	At
	// From is an address, an output of one, or output.NAME; To the path as it
	// was written.
	From string `json:"from"`
	To   string `json:"to"`
	// Unchanged says that the content was already there.
	Unchanged bool   `json:"unchanged,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Warning is something that people should know but that does not stop the run.
type Warning struct {
	At
	Address string `json:"address,omitempty"`
	Message string `json:"message"`
}

// EventType implements Event.
func (RunStarted) EventType() string { return "run_started" }

// EventType implements Event.
func (StepStarted) EventType() string { return "step_started" }

// EventType implements Event.
func (StepJob) EventType() string { return "step_job" }

// EventType implements Event.
func (StepProgress) EventType() string { return "step_progress" }

// EventType implements Event.
func (StepWaiting) EventType() string { return "step_waiting" }

// EventType implements Event.
func (Preflight) EventType() string { return "preflight" }

// EventType implements Event.
func (PreflightFinished) EventType() string { return "preflight_finished" }

// EventType implements Event.
func (StepLog) EventType() string { return "step_log" }

// EventType implements Event.
func (StepRetry) EventType() string { return "step_retry" }

// EventType implements Event.
func (StepFinished) EventType() string { return "step_finished" }

// EventType implements Event.
func (RunFinished) EventType() string { return "run_finished" }

// EventType implements Event.
func (OutputValue) EventType() string { return "output" }

// EventType implements Event.
func (Published) EventType() string { return "published" }

// EventType implements Event.
func (Publishing) EventType() string { return "publishing" }

// EventType implements Event.
func (Warning) EventType() string { return "warning" }
