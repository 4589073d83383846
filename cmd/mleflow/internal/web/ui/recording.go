package ui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// recording is a transcript that is open, with its outline.
type recording struct {
	*transcript.Reader
	*outline
}

// openTranscript opens the transcript of an attempt: that of its outputs or, while it runs,
// the one that is being written. It returns nil without an exchange, or why there is none.
func openTranscript(ctx context.Context, a *shownAttempt) (t *recording, missing string, err error) {
	outlineNow := outlineOf
	var r *transcript.Reader
	if a.growing != nil {
		if a.growing.Transcript == "" {
			return nil, a.missing, nil
		}
		r, err = openKept(a)
	} else {
		ref, missing := a.output("transcript")
		if missing != "" {
			return nil, missing, nil
		}
		if _, err := tree.Find(ctx, a.store, ref, transcript.EventsFile); none(err) {
			return nil, "", nil
		}
		r, err = transcript.OpenReader(tree.NewFS(ctx, a.store, ref))
		outlineNow = func(r *transcript.Reader) (*outline, error) { return a.outlines.of(ref, r) }
	}
	if err != nil || r == nil {
		return nil, "", err
	}
	all, err := outlineNow(r)
	if err != nil || len(all.turns) == 0 {
		return nil, "", errors.Join(err, r.Close())
	}
	return &recording{r, all}, "", nil
}

// openKept opens the transcript that is being written; nil if nothing was asked yet.
func openKept(a *shownAttempt) (*transcript.Reader, error) {
	if !strings.HasPrefix(a.growing.Transcript, "agent-models-") {
		return nil, nil
	}
	dir, err := a.Source.Kept(a.growing.Transcript)
	if err != nil {
		return nil, err
	}
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(dir, "transcript")))
	if none(err) {
		return nil, nil
	}
	return r, err
}

// outline is what is known of a transcript without its bodies: where its exchanges are,
// and their sums.
type outline struct {
	turns []exchange
	start time.Time
	// failed are the exchanges that did not succeed, by their numbers, in order.
	failed        []int
	input, output int64
	cost          int64
}

// exchange is where and when an exchange is.
type exchange struct {
	transcript.Span
	at time.Time
}

// outlines remembers the outlines of the transcripts that were shown last.
type outlines struct {
	mu   sync.Mutex
	list []remembered
}

// remembered is the outline of a transcript.
type remembered struct {
	ref cache.Ref
	*outline
}

// maxOutlines is the number of remembered outlines.
const maxOutlines = 2

// of returns the outline of a transcript.
func (t *outlines) of(ref cache.Ref, r *transcript.Reader) (*outline, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.list {
		if known.ref == ref {
			return known.outline, nil
		}
	}
	out, err := outlineOf(r)
	if err == nil {
		t.list = append(t.list[max(0, len(t.list)-maxOutlines+1):], remembered{ref, out})
	}
	return out, err
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
		out.turns = append(out.turns, exchange{e.Span, e.Time})
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
