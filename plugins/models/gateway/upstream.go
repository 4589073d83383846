package gateway

import (
	"context"
	"io"
	"net/http"
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
