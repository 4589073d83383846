package modelblock

import (
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// TestHealth: what is said of the providers follows from the last request that one was
// asked.
func TestHealth(t *testing.T) {
	good := transcript.Event{Model: "m", Asked: "m-1", Status: 200}
	gone := transcript.Interruption{Gone: true}
	for name, c := range map[string]struct {
		events   []transcript.Event
		answered bool
		down     string
	}{
		"nothing":           {nil, false, ""},
		"answered":          {[]transcript.Event{good}, true, ""},
		"then 503":          {[]transcript.Event{good, {Status: 503}}, true, "status 503"},
		"503, then":         {[]transcript.Event{{Status: 503}, good}, true, ""},
		"a list of models":  {[]transcript.Event{{Status: 503}, {Status: 200}}, false, "status 503"},
		"a mistake":         {[]transcript.Event{{Status: 503}, {Status: 400, Asked: "m-1", Failed: "Invalid value."}}, true, ""},
		"no answer":         {[]transcript.Event{{Refused: dialect.Unreachable, Status: 502, Failed: "refused"}}, false, "did not answer: refused"},
		"malformed":         {[]transcript.Event{{Status: 200, Failed: "the response is not valid JSON"}}, false, "failed: the response is not valid JSON"},
		"cut":               {[]transcript.Event{{Status: 200, Interruption: transcript.Interruption{Cut: true}, Failed: "receive: reset"}}, false, "broke off"},
		"cut by the budget": {[]transcript.Event{{Status: 200, Asked: "m-1", Charge: transcript.Charge{Exceeded: true}, Failed: "the response was cut"}}, true, ""},
		"stopped, retrying": {[]transcript.Event{{Refused: dialect.Unreachable, Interruption: gone, Seconds: 90, Attempts: []transcript.Attempt{{Status: 529}}}}, false, "status 529"},
		"stopped, no host":  {[]transcript.Event{{Refused: dialect.Unreachable, Interruption: gone, Seconds: 60, Attempts: []transcript.Attempt{{Failed: "no such host"}}}}, false, "did not answer: no such host"},
		"did not wait":      {[]transcript.Event{{Refused: dialect.Unreachable, Interruption: gone, Seconds: 59, Attempts: []transcript.Attempt{{Status: 529}}}}, false, ""},
		"gave up at once":   {[]transcript.Event{{Refused: dialect.Unreachable, Interruption: gone, Seconds: 5}}, false, ""},
		"silence":           {[]transcript.Event{{Refused: dialect.Unreachable, Interruption: gone, Seconds: 90}}, false, ""},
		"over budget":       {[]transcript.Event{{Status: 503}, {Refused: dialect.OverBudget, Status: 429}}, false, ""},
		"not allowed":       {[]transcript.Event{{Status: 503}, {Refused: dialect.NotAllowed, Status: 403}}, false, "status 503"},
		"a recording":       {[]transcript.Event{{Status: 503, Replay: transcript.Replay{Replayed: true}}}, false, ""},
	} {
		var h Health
		for _, e := range c.events {
			e.Time = time.Unix(1e9, 0)
			h.see(e)
		}
		if h.Answered != c.answered || (h.Down == "") != (c.down == "") || !strings.Contains(h.Down, c.down) {
			t.Errorf("%s: %+v", name, h)
		}
	}
	var late Health // the first exchange is recorded last
	late.see(transcript.Event{Status: 503, Time: time.Unix(1e9, 1)})
	good.Time = time.Unix(1e9, 0)
	if late.see(good); !late.Answered || late.Down == "" {
		t.Errorf("out of order: %+v", late)
	}
}
