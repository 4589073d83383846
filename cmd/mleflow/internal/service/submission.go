package service

import (
	"errors"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
)

// State is where a submission stands.
type State string

// The states of submissions. Only Queued and Running change.
const (
	Queued    State = "queued"
	Running   State = "running"
	Ended     State = "ended"
	Cancelled State = "cancelled"
)

// Over reports whether a submission has come to its end.
func (s State) Over() bool { return s == Ended || s == Cancelled }

// Submission is a pipeline that someone asked the server to apply.
type Submission struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// Pipeline is the path of the pipeline's file in the submitted folder.
	Pipeline string `json:"pipeline"`
	Name     string `json:"name,omitempty"`
	// Priority is compared first: a greater one runs earlier.
	Priority int   `json:"priority,omitempty"`
	State    State `json:"state"`
	// Waits says why a queued submission has not started.
	Waits string `json:"waits,omitempty"`
	// Run is its latest run, "" before the first, and Runs has all: a server that died
	// continues a submission by another run.
	Run  string   `json:"run,omitempty"`
	Runs []string `json:"runs,omitempty"`
	// Exit is the exit status of mleflow apply, once the submission has ended.
	Exit int `json:"exit"`
	// Public says that its runs can be read without signing in.
	Public    bool      `json:"public,omitempty"`
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
}

// Manifest is what is submitted: files by their digests, and how to apply them.
type Manifest struct {
	// Pipeline is the path of the pipeline's file: one of Files, or the name of a
	// pipeline that ships with mleflow.
	Pipeline string `json:"pipeline"`
	Files    []File `json:"files"`
	// Variables are assignments NAME=VALUE, or @PATH for one of Files with several, in
	// their order.
	Variables []string `json:"variables,omitempty"`
	Flags     Flags    `json:"flags,omitzero"`
	// Key, if it is set, makes a request that is sent again no second submission.
	Key      string `json:"key,omitempty"`
	Priority int    `json:"priority,omitempty"`
}

// File is a file of a submission.
type File struct {
	// Path has slashes and is relative to the submitted folder.
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// Executable reports whether the owner may execute it.
	Executable bool `json:"executable,omitempty"`
}

// Flags are the flags of mleflow apply that a submission may have.
type Flags struct {
	Targets       []string `json:"targets,omitempty"`
	Retry         []string `json:"retry,omitempty"`
	Force         []string `json:"force,omitempty"`
	Attempt       string   `json:"attempt,omitempty"`
	Fork          string   `json:"fork,omitempty"`
	Rerun         *bool    `json:"rerun,omitempty"`
	KeepGoing     bool     `json:"keep_going,omitempty"`
	RequireCached bool     `json:"require_cached,omitempty"`
	Locked        bool     `json:"locked,omitempty"`
	Full          bool     `json:"full,omitempty"`
	FailOn        string   `json:"fail_on,omitempty"`
	// Parallelism is how many steps run at a time, at most as the server allows; 0 is
	// that limit.
	Parallelism int      `json:"parallelism,omitempty"`
	Name        string   `json:"name,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Note        string   `json:"note,omitempty"`
}

// The reasons why something is refused. Others are errors of this machine.
var (
	// ErrUnknown means that there is no such submission or run: 404.
	ErrUnknown = errors.New("there is no such submission")
	// ErrInvalid means that a request is wrong by itself: 400.
	ErrInvalid = errors.New("invalid")
	// ErrMissing means that a submission names files which were not sent: 409.
	ErrMissing = errors.New("files are missing")
	// ErrLimit means that an owner has reached a limit: 429.
	ErrLimit = queue.ErrLimit
	// ErrOver means that a submission has ended and cannot be changed: 409.
	ErrOver = errors.New("the submission has ended")
	// ErrLives means that a submission has not ended and cannot be continued: 409.
	ErrLives = errors.New("the submission has not ended")
)
