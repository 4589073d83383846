package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/plan"
)

// Texts of reasons that have no field.
const (
	firstRun  = "first run"
	forced    = "forced"
	volatile  = "reads something its arguments do not pin, so it always runs"
	forgotten = "the inputs changed; the record of the earlier run is gone, so the change cannot be shown"
)

// explainMiss says why an action is not in the cache, given the action that
// the address ran last (zero if none).
func (e *Engine) explainMiss(ctx context.Context, last digest.ActionID, d *decision) []plan.Reason {
	if t, err := e.opts.Cache.Evicted(ctx, d.id); err == nil {
		when := time.UnixMilli(t.EvictedUnixMilli).UTC().Format("2006-01-02 15:04:05Z")
		return []plan.Reason{{Text: fmt.Sprintf("its result was evicted on %s (%s)", when, t.Reason)}}
	}
	if last.IsZero() {
		return []plan.Reason{{Text: firstRun}}
	}
	if last == d.id {
		return []plan.Reason{{Text: "its result is gone from the cache"}}
	}
	rec, err := e.lookup(ctx, last)
	if err != nil || rec == nil {
		return []plan.Reason{{Text: forgotten}}
	}
	return Diff(rec.Fields, d.fields)
}

// Diff lists the fields that differ between two keys, in the order of the new
// one, then those that are gone.
func Diff(before, after []digest.Field) []plan.Reason {
	old := make(map[string]string, len(before))
	for _, f := range before {
		old[f.Label] = f.Value
	}
	var reasons []plan.Reason
	for _, f := range after {
		from, had := old[f.Label]
		delete(old, f.Label)
		switch {
		case !had:
			reasons = append(reasons, plan.Reason{Field: f.Label, To: f.Value, Text: fmt.Sprintf("%s is new: %s", f.Label, short(f.Value))})
		case from != f.Value:
			reasons = append(reasons, plan.Reason{Field: f.Label, From: from, To: f.Value, Text: fmt.Sprintf("%s changed from %s to %s", f.Label, short(from), short(f.Value))})
		}
	}
	for _, f := range before {
		if _, gone := old[f.Label]; gone {
			reasons = append(reasons, plan.Reason{Field: f.Label, From: f.Value, Text: fmt.Sprintf("%s is gone, it was %s", f.Label, short(f.Value))})
		}
	}
	return reasons
}

// short cuts digests and long texts for people.
func short(v string) string {
	if len(v) == 2*digest.Size && strings.Trim(v, "0123456789abcdef") == "" {
		return v[:12]
	}
	if len(v) > 60 {
		return v[:57] + "…"
	}
	if v == "" {
		return `""`
	}
	return v
}
