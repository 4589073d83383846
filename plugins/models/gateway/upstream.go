package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Upstream answers the requests that the gateway accepted.
type Upstream interface {
	// Do answers a call. The error is a *dialect.Refusal if the gateway itself
	// refuses, and a *Failure otherwise. Cancelling the context ends the
	// reply's body too.
	Do(ctx context.Context, call *Call) (*Reply, error)
}

// Call is a request that the gateway accepted.
type Call struct {
	Dialect dialect.Dialect
	Request *dialect.Request
	Method  string
	// Path is the path that the dialect knows, from the root of the provider's
	// own host.
	Path string
	// Body is the client's decoded body. Request has the forwarded body and
	// query. Header has the forwarded headers without the key.
	Body   []byte
	Header http.Header
	// Client ends when the client has left. The call is not sent again then, but
	// the response to one that was sent is still read: the provider may charge
	// for it.
	Client context.Context
	// Reserve takes the worst case of the request from the budgets. It is
	// called once, before anything is sent that may cost something.
	Reserve func() error
	// Wait reports that the provider has kept the request waiting since from.
	// The returned function ends the wait.
	Wait func(from time.Time) (end func())
}

// Reply is the answer to a call.
type Reply struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
	// Attempts are the failed attempts before this reply.
	Attempts []transcript.Attempt
	// Recorded is set if the reply comes from a recording. Normalised reports
	// that the recording matched only without times, durations and the like.
	Recorded   *transcript.Event
	Normalised bool
	// Tokens are those of the recording, if it has some.
	Tokens *dialect.Tokens
	// Charged reports that an earlier try already charged the attempt's budget
	// for the recording.
	Charged bool
	// Diverged explains why a replay had no answer and went live.
	Diverged string
}

// Failure means that no answer came. Its text may reveal details of the
// network. It is for the record, not for the client.
type Failure struct {
	Err error
	// Sent reports that the provider may have received the request and may
	// charge for it.
	Sent     bool
	Attempts []transcript.Attempt
	Diverged string
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// OnMiss is a replay's reaction to a request without a recording.
type OnMiss int

const (
	// Fail refuses the request and shows how it differs from the nearest
	// recording.
	Fail OnMiss = iota
	// Live forwards the request to the provider and records that.
	Live
	// Resume forwards this request and all later ones to the provider. The
	// recordings are from earlier tries of the attempt, with the same
	// budget.jsonl, so their cost is already spent.
	Resume
)

// Replay is an upstream that answers from recordings.
type Replay struct {
	player *transcript.Player
	onMiss OnMiss
	live   Upstream
	left   atomic.Bool
}

// NewReplay returns an upstream that plays recordings. live may be nil if
// onMiss is Fail.
func NewReplay(player *transcript.Player, onMiss OnMiss, live Upstream) *Replay {
	return &Replay{player: player, onMiss: onMiss, live: live}
}

// Continue skips the requests that a resumed agent sent to a model block
// earlier, according to the transcript of its attempt. Recordings it received
// are used up. If the attempt had left the replay, it stays live.
func (r *Replay) Continue(before *transcript.Reader, model string) error {
	for e, err := range before.Events() {
		if err != nil {
			return err
		}
		switch {
		case e.Model != model:
			continue
		case r.onMiss == Resume && e.Diverged != "":
			r.left.Store(true)
			return nil
		case !e.Replayed || e.Request.Dropped > 0:
			continue
		}
		body, err := before.Request(e)
		if err != nil {
			return err
		}
		_, err = r.player.Find(transcript.Ask{Provider: e.Provider, Method: e.Method, Path: e.Path, Operation: e.Operation, Asked: e.Asked, Body: body})
		if _, ok := errors.AsType[*transcript.Miss](err); err != nil && !ok {
			return err
		}
	}
	return nil
}

// Do implements Upstream.
func (r *Replay) Do(ctx context.Context, call *Call) (*Reply, error) {
	if r.left.Load() {
		return r.live.Do(ctx, call)
	}
	found, err := r.player.Find(transcript.Ask{
		Provider: call.Dialect.Name(), Method: call.Method, Path: call.Path,
		Operation: call.Request.Operation, Asked: call.Request.Model, Body: call.Body,
	})
	if miss, ok := errors.AsType[*transcript.Miss](err); ok {
		return r.missed(ctx, call, miss)
	}
	if err != nil {
		return nil, &Failure{Err: err}
	}
	if e := found.Event; r.onMiss == Resume && (e.Gone || e.Cut || e.Failed != "" || !found.Whole()) {
		return r.missed(ctx, call, errInterrupted)
	} else if r.onMiss == Resume && e.Masked {
		return r.missed(ctx, call, errMasked)
	}
	body, err := found.Response()
	if err != nil {
		return nil, &Failure{Err: err}
	}
	if found.Event.Cut || found.Event.Gone {
		body = io.MultiReader(body, broken{errCut})
	}
	tokens, err := found.Sampled()
	if err != nil {
		return nil, &Failure{Err: err}
	}
	header := http.Header{}
	for name, value := range found.Event.Headers {
		header.Set(name, value)
	}
	return &Reply{
		Status: found.Event.Status, Header: header, Body: io.NopCloser(body),
		Recorded: found.Event, Normalised: found.Normalised, Tokens: tokens, Charged: r.onMiss == Resume,
	}, nil
}

func (r *Replay) missed(ctx context.Context, call *Call, miss error) (*Reply, error) {
	if r.onMiss == Fail {
		// A request that was over budget when it was recorded is over budget
		// again.
		var no *dialect.Refusal
		if err := call.Reserve(); errors.As(err, &no) && no.Reason == dialect.OverBudget {
			return nil, err
		}
		return nil, &dialect.Refusal{Reason: dialect.NoRecording, Text: miss.Error()}
	}
	if r.onMiss == Resume {
		r.left.Store(true)
	}
	reply, err := r.live.Do(ctx, call)
	var failure *Failure
	switch {
	case err == nil && reply.Recorded != nil: // replayed from an earlier try
	case err == nil:
		reply.Diverged = miss.Error()
	case errors.As(err, &failure):
		failure.Diverged = miss.Error()
	}
	return reply, err
}

// errMasked explains why a request is sent again whose response was recorded without
// a secret that was in it: the agent would get another one than before.
var errMasked = errors.New("the response of the earlier try had a secret, which is not recorded")

// errInterrupted explains why a request that an earlier try recorded is sent
// again.
var errInterrupted = errors.New("the earlier try ended before the response did")

// errCut ends a recorded response whose connection broke.
var errCut = errors.New("the recording ends here: the response was cut")

// broken ends a response with an error.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }
