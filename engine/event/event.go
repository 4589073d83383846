// Package event defines the facts that a run emits in chronological order. The
// engine prints nothing: the terminal view, the plain log, the JSON lines, the
// run's journal and the report all read events.
//
// In JSON, an event is one object with its "type" (see Encode) and its fields.
// Times are RFC 3339 with nanoseconds in UTC, durations integers in
// milliseconds, sizes bytes.
package event

import (
	"encoding/json"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// Event is one fact. The set is closed: only this package implements it.
type Event interface {
	// When returns the time of the fact.
	When() time.Time
}

// Sink receives events, one at a time. The engine waits for Emit, so it must
// not block for long.
type Sink interface{ Emit(Event) }

// SinkFunc adapts a function to a Sink.
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

// At is the time of an event. Every event embeds it.
type At struct {
	Time time.Time `json:"time"`
}

// Now returns the time of an event that happens now.
func Now() At { return At{Time: time.Now().UTC()} }

// When implements Event.
func (a At) When() time.Time { return a.Time }

// Status is the outcome of a step instance.
type Status string

// The outcomes of a step instance.
const (
	// Ran: the step was executed and its outputs recorded.
	Ran Status = "ran"
	// Cached: the outputs of an earlier execution were used.
	Cached Status = "cached"
	// Failed: the step was executed and failed permanently.
	Failed Status = "failed"
	// Skipped: not executed because a dependency failed.
	Skipped Status = "skipped"
	// Cancelled: interrupted, or not started because the run was stopping.
	Cancelled Status = "cancelled"
	// Unneeded: not run, because the pipeline's evaluation ended without it, or because a
	// condition left it out.
	Unneeded Status = "unneeded"
)

// Succeeded reports whether an instance has outputs. It does not matter who made them.
func (s Status) Succeeded() bool { return s == Ran || s == Cached }

// Done is the number of instances that need nothing more from a run: all but those that
// it skipped or cancelled.
func Done(counts map[Status]int) (n int) {
	for status, count := range counts {
		if status != Skipped && status != Cancelled {
			n += count
		}
	}
	return n
}

// RunStarted opens every run.
type RunStarted struct {
	At
	Run      string `json:"run"`
	Pipeline string `json:"pipeline"`
	// Steps is the number of instances in the run. ToRun, Cached and Deferred
	// are the plan's predictions.
	Steps    int `json:"steps"`
	ToRun    int `json:"to_run"`
	Cached   int `json:"cached"`
	Deferred int `json:"deferred"`
	// Resumed names the earlier, unfinished run of the pipeline, if any.
	Resumed string `json:"resumed,omitempty"`
	// ExpectedMillis is the expected duration of the run, or 0 if unknown; see
	// ExpectedEnd.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// Blocks are the step blocks in dependency order.
	Blocks []Block `json:"blocks,omitempty"`
}

// StepStarted marks the start of a try at an instance.
type StepStarted struct {
	At
	Address string `json:"address"`
	Kind    string `json:"kind"`
	// Try counts from 1.
	Try int `json:"attempt"`
	// ExpectedMillis is its previous duration or, if it has not run before, the
	// mean duration of its block. It is 0 if unknown.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// CPUs, MemoryBytes and Devices are leased to the try.
	CPUs        float64  `json:"cpus,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	Devices     []string `json:"devices,omitempty"`
	// On is the backend of the cluster file on which it runs, or "" for this
	// machine. StepJob events follow.
	On string `json:"on,omitempty"`
}

// StepJob is the state of a try's job on a backend of a cluster. It
// replaces the previous one.
type StepJob struct {
	At
	Address string `json:"address"`
	// On is the backend. Job is the job's name there.
	On  string `json:"on"`
	Job string `json:"job"`
	// State is "queued" (max_jobs are running, or the cluster takes no more jobs for now), "pending" (the cluster has not
	// started a worker), "running", "ended" (the machines gave up, and the job
	// starts again), or "left" (the job continues without this process).
	State string `json:"state"`
	// Node is the node where it runs or ran, or "" if it has not started yet.
	Node string `json:"node,omitempty"`
	// Starts is the number of workers started. GPUs is the number of GPUs of
	// each.
	Starts int `json:"starts,omitempty"`
	GPUs   int `json:"gpus,omitempty"`
	// Adopted means that another process started it.
	Adopted bool `json:"adopted,omitempty"`
	// Reason is the cluster's one-word reason why it waits or failed. Message
	// is the cluster's sentence.
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

// StepProgress is the progress of a try.
type StepProgress struct {
	At
	Address string `json:"address"`
	step.Progress
}

// StepWaiting means that a try waits for disk space that others hold, or for another
// process that runs the same action. It ends with the next StepProgress or the end of the
// step.
type StepWaiting struct {
	At
	Address string `json:"address"`
	// Bytes is the disk space for which it waits, or 0. Holders is the number of this
	// run's steps that hold disk space.
	Bytes   int64  `json:"bytes"`
	Holders int    `json:"holders,omitempty"`
	Message string `json:"message"`
}

// Preflight is the finding, before the first step runs, about something that a
// step will fetch.
type Preflight struct {
	At
	Address string `json:"address"`
	// Subject names the thing to fetch, such as a competition. Place is its
	// source.
	Subject string `json:"subject"`
	Place   string `json:"place,omitempty"`
	// Bytes and Files are the size of the transfer, or 0 if unknown.
	Bytes int64 `json:"bytes,omitempty"`
	Files int   `json:"files,omitempty"`
	// NeedBytes is the expected disk space of the step.
	NeedBytes int64 `json:"need_bytes,omitempty"`
	// Credential and Rules are "ok", "missing", "unknown", or "" if they do not
	// apply. Link is the address for getting a missing one.
	Credential string `json:"credential,omitempty"`
	Rules      string `json:"rules,omitempty"`
	Link       string `json:"link,omitempty"`
	// Verdict is "ok", "failed" (the step will not start) or "unknown" (the
	// step will try).
	Verdict string `json:"verdict"`
	// Error is the cause of a failure. Note is additional information.
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
	// Bytes is the sum of the transfers and NeedBytes that of the disk space.
	// Both exclude failures.
	Bytes     int64 `json:"bytes"`
	NeedBytes int64 `json:"need_bytes"`
}

// StepLog is one line of a step's output, without its newline.
type StepLog struct {
	At
	Address string `json:"address"`
	Line    string `json:"line"`
}

// StepRetry means that a try failed and another will follow.
type StepRetry struct {
	At
	Address    string `json:"address"`
	Try        int    `json:"attempt"`
	WaitMillis int64  `json:"wait_ms"`
	Error      string `json:"error"`
}

// StepFinished is the end of an instance.
type StepFinished struct {
	At
	Address        string `json:"address"`
	Kind           string `json:"kind"`
	Status         Status `json:"status"`
	Action         string `json:"action,omitempty"`
	LastTry        int    `json:"attempts,omitempty"`
	DurationMillis int64  `json:"duration_ms"`
	// Error is the cause of a failure or, if skipped, the address that failed, or says that
	// a person cancelled it.
	Error string `json:"error,omitempty"`
	// Reason is why a step was not needed, if a condition left it out.
	Reason string `json:"reason,omitempty"`
	// Outputs maps output names to digests (of content) or JSON (of small
	// values).
	Outputs map[string]string `json:"outputs,omitempty"`
	// Conditions are the conditions of the outputs, "key=value".
	Conditions []string `json:"conditions,omitempty"`
	// Tries counts the tries at the action, if there were several or the result
	// is not final.
	Tries *cache.Tries `json:"tries,omitempty"`
	// MadeIn is the run that executed a cached step and has its log.
	MadeIn string `json:"made_in,omitempty"`
	// On and Node identify where the last try ran, if it was not on this
	// machine. GPUs is the number of GPUs that it had there.
	On   string `json:"on,omitempty"`
	Node string `json:"node,omitempty"`
	GPUs int    `json:"gpus,omitempty"`
	// FetchedBytes and StoredBytes are the amounts transferred from and to the
	// remote cache for it there.
	FetchedBytes int64 `json:"fetched_bytes,omitempty"`
	StoredBytes  int64 `json:"stored_bytes,omitempty"`
}

// RunFinished ends every run that was not killed.
type RunFinished struct {
	At
	Run string `json:"run"`
	// Status is Ran on success, and Failed or Cancelled otherwise.
	Status Status `json:"status"`
	// Paused means that a person paused the run, which is Cancelled.
	Paused         bool  `json:"paused,omitempty"`
	Ran            int   `json:"ran"`
	Cached         int   `json:"cached"`
	Failed         int   `json:"failed"`
	Skipped        int   `json:"skipped"`
	Cancelled      int   `json:"cancelled"`
	Unneeded       int   `json:"unneeded,omitempty"`
	DurationMillis int64 `json:"duration_ms"`
	// Mismatch means that a step failed because content did not match a pin.
	Mismatch bool `json:"mismatch,omitempty"`
}

// Evaluated is the state of the pipeline's evaluation, before the first round of
// attempts and after each.
type Evaluated struct {
	At
	plan.Evaluation
}

// OutputValue is the value of an output block, emitted at the end.
type OutputValue struct {
	At
	Name string `json:"name"`
	// Value is the plain text of a string, or the JSON of any other value.
	Value string `json:"value"`
	// IsString distinguishes a string from JSON.
	IsString bool `json:"is_string,omitempty"`
	// Content describes a value that is content.
	Content *Content `json:"content,omitempty"`
}

// JSON returns the value in JSON. Content is represented by its kind and
// digest.
func (o OutputValue) JSON() json.RawMessage {
	if !o.IsString && json.Valid([]byte(o.Value)) {
		return json.RawMessage(o.Value)
	}
	text, _ := json.Marshal(o.Value) // a string
	return text
}

// Content is a blob or tree that a step produced.
type Content struct {
	// From and Output identify the instance and its output.
	From   string `json:"from"`
	Output string `json:"output"`
	// Kind is "blob" or "tree". Bytes is the size. Files is the number of files
	// in a tree.
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	Files int64  `json:"files,omitempty"`
}

// Publishing reports once a second the progress of writing results to a path
// after the run. The run history does not record it.
type Publishing struct {
	At
	// From and To have the meaning they have in Published.
	From string `json:"from"`
	To   string `json:"to"`
	step.Progress
}

// Published reports that results were written to a path after the run, or the
// reason why not.
type Published struct {
	At
	// From is an address, an output of one, or output.NAME. To is the path as
	// written in the pipeline.
	From string `json:"from"`
	To   string `json:"to"`
	// Unchanged means that the path already had the content.
	Unchanged bool   `json:"unchanged,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Steered answers a person's request to change the run or one of its attempts.
type Steered struct {
	At
	Request step.Request `json:"request"`
	// Effect is what follows from it, Refused why nothing does. One of them is "".
	Effect  string `json:"effect,omitempty"`
	Refused string `json:"refused,omitempty"`
	// From is the earlier run that was asked, "" for this one. What was asked of an attempt
	// still holds, what was asked of that run itself held for that run only.
	From string `json:"from,omitempty"`
}

// Stalled means that an attempt stands still, or that it works again.
type Stalled struct {
	At
	Address string `json:"address"`
	step.Stall
}

// Warning is a problem that people should know but that does not stop the run.
type Warning struct {
	At
	Address string `json:"address,omitempty"`
	Message string `json:"message"`
}

// StepPhase is the current phase of an attempt with its state. It replaces the
// previous one.
type StepPhase struct {
	At
	Address string `json:"address"`
	step.Phase
}
