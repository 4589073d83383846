package ui

import (
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// outline is what is known of a transcript without its bodies: where its exchanges are,
// and their sums.
type outline struct {
	turns []place
	start time.Time
	// failed are the exchanges that did not succeed, by their places.
	failed        []int
	input, output int64
	cost          int64
}

// place is where and when an exchange is.
type place struct {
	transcript.Span
	at time.Time
}

// outlineOf reads the events of a transcript.
func outlineOf(r *transcript.Reader) (*outline, error) {
	out := &outline{}
	for e, err := range r.Headlines() {
		if err != nil {
			return out, err
		}
		if len(out.turns) == 0 {
			out.start = e.Time
		}
		if e.Status != 200 {
			out.failed = append(out.failed, len(out.turns))
		}
		if e.Usage != nil {
			out.input, out.output = out.input+e.Usage.Input, out.output+e.Usage.Output
		}
		out.cost += e.Cost
		out.turns = append(out.turns, place{e.Span, e.Time})
	}
	return out, nil
}

// endOf is the end of a body's last range.
func endOf(b transcript.Body) (end int64) {
	for _, p := range b.Pieces {
		end = max(end, p[0]+p[1])
	}
	return end
}

// outlines remembers the outlines of the transcripts that were shown last.
type outlines struct {
	mu   sync.Mutex
	refs [2]cache.Ref
	list [2]*outline
	next int
}

// of returns the outline of a transcript.
func (t *outlines) of(ref cache.Ref, r *transcript.Reader) (*outline, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, known := range t.refs {
		if known == ref && t.list[i] != nil {
			return t.list[i], nil
		}
	}
	out, err := outlineOf(r)
	if err != nil {
		return out, err
	}
	t.refs[t.next], t.list[t.next] = ref, out
	t.next = (t.next + 1) % len(t.refs)
	return out, nil
}

// withTranscript opens the transcript, or explains why there is none.
func (o *one) withTranscript(use func(r *transcript.Reader, all *outline, why string) error) error {
	ref, why := o.output("transcript")
	if why != "" {
		return use(nil, nil, why)
	}
	if _, err := tree.Find(o.ctx, o.store, ref, transcript.EventsFile); none(err) {
		return use(nil, &outline{}, "")
	}
	r, err := transcript.OpenReader(tree.NewFS(o.ctx, o.store, ref))
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := o.u.turns.of(ref, r)
	if err != nil {
		return err
	}
	return use(r, all, "")
}
