package step

import (
	"errors"
	"strings"
	"time"
)

// Run returns an error that wraps one of these if it ended as a request asked.
var (
	ErrCancelled = errors.New("cancelled by hand")
	ErrRequeued  = errors.New("put back into the queue")
)

// Act is a way in which a person steers a run, or one of its attempts, while it lives.
type Act string

// The acts on an attempt.
const (
	// Stop ends it now; what it submitted is harvested and graded.
	Stop Act = "stop"
	// Cancel ends it and keeps nothing; the next run begins it again.
	Cancel Act = "cancel"
	// Requeue ends it and puts it back, to go on from its checkpoint if it has one.
	Requeue Act = "requeue"
	// Extend gives it more time or money.
	Extend Act = "extend"
)

// ActOf is the act that a word tells of, such as "stopped@3h12m0s", "time+2h" or, of an
// attempt without a result, the act itself.
func ActOf(word string) Act {
	switch {
	case Act(word) == Cancel:
		return Cancel
	case Act(word) == Requeue, word == RequeuedStalled:
		return Requeue
	case strings.HasPrefix(word, "stopped@"), ByStall(word):
		return Stop
	}
	return Extend
}

// The acts on a run.
const (
	// Drain starts nothing new and finishes what runs.
	Drain Act = "drain"
	// SetParallelism and SetGPUs limit how many steps run and GPUs are leased at once.
	SetParallelism Act = "set parallelism"
	SetGPUs        Act = "set gpus"
	// SetBudget and SetDeadline end the run, as by Drain and by Stop of its attempts, once
	// its models have cost so much, or at a time.
	SetBudget   Act = "set budget"
	SetDeadline Act = "set deadline"
)

// Request is a person's wish to change a run that lives, or one of its attempts.
type Request struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Act  Act       `json:"act"`
	// Address is the attempt's, "" for the run.
	Address string `json:"address,omitempty"`
	// ByMillis and Budget, in billionths of a US dollar, are what Extend adds to the time
	// limit and to each budget of money. Budget is also that of SetBudget.
	ByMillis int64 `json:"by_ms,omitempty"`
	Budget   int64 `json:"budget_nanodollars,omitempty"`
	// Value is what a limit of the run is set to.
	Value int `json:"value,omitempty"`
	// Until is the time of SetDeadline.
	Until time.Time `json:"until,omitzero"`
	// Author is the user and machine that asked, Reason what they said.
	Author string `json:"author"`
	Reason string `json:"reason,omitempty"`
	// Through is the protocol by which a program asked in the author's name, such as "mcp".
	Through string `json:"through,omitempty"`
	// Begun means that an earlier run has answered it, and was interrupted before the attempt
	// had ended.
	Begun bool `json:"begun,omitempty"`
}

// InTurn ends the effect of Requeue. The run replaces it if the turn does not come in it.
const InTurn = "when its turn comes"

// Ended returns the act by which an error of Run says that the step was ended, or "".
func Ended(err error) Act {
	switch {
	case errors.Is(err, ErrCancelled):
		return Cancel
	case errors.Is(err, ErrRequeued):
		return Requeue
	}
	return ""
}

// By is what the time limit is extended by.
func (r Request) By() time.Duration { return time.Duration(r.ByMillis) * time.Millisecond }

// Asked is a request to an attempt that runs.
type Asked struct {
	Request
	// Again means that it was asked in an earlier run: it waits until it can be done.
	Again bool
	// Answer takes what follows, or why nothing does. It must be called once.
	Answer func(effect string, err error)
}
