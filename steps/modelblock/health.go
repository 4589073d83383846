package modelblock

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// silence is after how long a provider that sent nothing has failed, if the agent
// gives up.
const silence = time.Minute

// Health is how the providers of an attempt did, by its exchanges up to now.
type Health struct {
	// Answered says that a provider answered a request, were it by an error that
	// the agent caused.
	Answered bool
	// Down is how a provider failed the last request, and At when; it is empty if
	// that was answered, or refused by a budget.
	Down string
	At   time.Time
	// last is when the request began that Down is about: exchanges may be recorded
	// in another order.
	last time.Time
}

// see takes an exchange into account. A recording says nothing of its provider, nor
// does what the gateway refused itself.
func (h *Health) see(e transcript.Event) {
	why := failure(e)
	answered := why == "" && e.Refused == "" && !e.Gone && e.Asked != ""
	h.Answered = h.Answered || answered && !e.Replayed
	if e.Replayed || e.Time.Before(h.last) {
		return
	}
	switch {
	case why != "":
		h.last = e.Time
		h.Down, h.At = plain.Line(fmt.Sprintf("the provider of model %q %.300s", e.Model, why)), e.Time.Add(time.Duration(e.Seconds*float64(time.Second)))
	case e.Refused == dialect.OverBudget, answered:
		h.last, h.Down = e.Time, ""
	}
}

// failure is how a provider failed, after its name; empty if it answered, or if
// that is not known.
func failure(e transcript.Event) string {
	last := transcript.Attempt{Status: e.Status, Failed: e.Failed}
	switch n := len(e.Attempts); {
	case e.Refused == dialect.Unreachable && !e.Gone:
		return "did not answer: " + cmp.Or(e.Failed, "no reason is known")
	case e.Refused != "" && e.Refused != dialect.Unreachable:
		return ""
	case e.Gone && n > 0: // while the gateway tried again
		last = e.Attempts[n-1]
	case e.Gone && e.FirstByte == 0 && e.Seconds >= silence.Seconds():
		return fmt.Sprintf("sent nothing for %.0f s", e.Seconds)
	case e.Gone:
		return ""
	}
	own := last.Status == http.StatusBadRequest && slices.ContainsFunc(accounts, func(text string) bool { return strings.Contains(last.Failed, text) })
	switch {
	case own, last.Status >= http.StatusInternalServerError, slices.Contains(refusing, last.Status):
		return fmt.Sprintf("answered with status %d: %s", last.Status, cmp.Or(last.Failed, http.StatusText(last.Status), "unknown"))
	case last.Status >= http.StatusBadRequest, last.Failed == "", e.Exceeded:
		return ""
	case last.Status == 0:
		return "did not answer: " + last.Failed
	}
	return "broke off: " + last.Failed
}

// refusing are the statuses of a provider that refuses its key or what that may
// use. Others below 500 are mistakes of the agent.
var refusing = []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests}

// accounts are the words of providers in an error 400 about the key (Gemini) or the
// account behind it (Anthropic).
var accounts = []string{"API key not valid", "API key expired", "credit balance is too low"}
