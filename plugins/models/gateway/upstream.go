package gateway

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Upstream answers the requests that were let through.
type Upstream interface {
	// Do answers a call. The error is a *dialect.Refusal if the gateway itself
	// refuses, or a *Failure. Cancelling the context ends the reply's body, too.
	Do(ctx context.Context, call *Call) (*Reply, error)
}

// Call is a request that the rules let through.
type Call struct {
	Model   *Model
	Dialect dialect.Dialect
	Request *dialect.Request
	Method  string
	// Path is the one that the dialect knows, from the root of the provider's own
	// host on.
	Path string
	// Body is the client's, decoded; Request has what is forwarded of body and
	// query, and Header what the provider shall get, but for the key.
	Body   []byte
	Header http.Header
	// Reserve takes the most that the request may cost from the budgets. It is
	// called once, before anything is sent that may cost something.
	Reserve func() error
	// Wait is told that the provider has made the request wait since from; what
	// it returns ends the wait.
	Wait func(from time.Time) (end func())
}

// Reply is the answer to a call.
type Reply struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
	// Attempts are those before the one that is passed on.
	Attempts []transcript.Attempt
	// Recorded is set if the reply comes from a recording, which Normalised says
	// was equal only without times, durations and the like.
	Recorded   *transcript.Event
	Normalised bool
	// Charged says that the attempt's budget was charged with it when it was
	// recorded, by an earlier try.
	Charged bool
	// Diverged says why a replay had no answer and went on live.
	Diverged string
}

// Failure is an answer that did not come. Its text may tell of the network
// outside: it is for the record, not for the client.
type Failure struct {
	Err error
	// Sent says that the provider may have the request, and charge for it.
	Sent     bool
	Attempts []transcript.Attempt
	Diverged string
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
