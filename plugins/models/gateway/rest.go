package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// A response whose client has left is read to its end, because its usage comes
// last and the provider charges for it anyway.
const (
	// restTime and restBytes bound what is read of it.
	restTime  = 10 * time.Minute
	restBytes = 64 << 20
	// endTime is the time that remains once the attempt has ended.
	endTime = 5 * time.Second
)

var errGone = errors.New("the client has gone")

// left reports whether the client has left.
func (x *exchange) left() bool {
	left := x.event.Gone || x.r.Context().Err() != nil
	x.gone(left)
	return left
}

// gone records that the client has left. An error is the provider's answer even if
// the client does not wait for its end.
func (x *exchange) gone(is bool) {
	x.event.Gone = x.event.Gone || is && x.event.Status < http.StatusBadRequest
}

// outlive returns the context of a request to the provider. It ends a while
// after its client has left. The returned function ends it at once.
func (x *exchange) outlive(client context.Context) (context.Context, func()) {
	if x.asked.Free || x.asked.Unmetered { // there is no usage to wait for
		return context.WithCancel(client)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	stop := context.AfterFunc(client, func() {
		defer cancel()
		patience := time.NewTimer(restTime)
		defer patience.Stop()
		select {
		case <-patience.C:
		case <-ctx.Done():
		case <-x.gateway.ended:
			_ = progress.Sleep(ctx, endTime)
		}
	})
	return ctx, func() { stop(); cancel() }
}

// credible reports whether a response may have used so little: a text has
// tokens, and so has a request.
func (x *exchange) credible(u dialect.Usage) bool {
	return (u.Input > 0 || x.asked.InputTokens <= 0) && u.Output >= leastTokens(x.meter)
}

// longestToken exceeds the bytes of any token in any known vocabulary.
const longestToken = 256

// leastTokens is the least number of tokens of the text that has arrived.
func leastTokens(m dialect.Meter) int64 { return (m.Progress().Text + longestToken - 1) / longestToken }
