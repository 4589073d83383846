package engine

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/plan"
)

// corrupt is the tombstone's reason for damaged content.
const corrupt = "corrupt"

// Reasons without a field.
const (
	firstRun  = "first run"
	forced    = "forced"
	retried   = "runs again, as --retry says; its tries are counted"
	volatile  = "reads something that its arguments do not pin, so it always runs"
	forgotten = "the inputs changed; the record of the last run is gone, so what changed is not known"
)

// again explains why a result that is not final is ignored.
func again(rec *cache.Record) string {
	return fmt.Sprintf("runs again: %s: %s", rec.Provisional, rec.Why)
}

// explainMiss explains why an action is not in the cache. last is the last
// action of the address, or zero.
func (e *Engine) explainMiss(ctx context.Context, last digest.ActionID, d *decision) []plan.Reason {
	if t, err := e.opts.Cache.Evicted(ctx, d.id); err == nil {
		when := time.UnixMilli(t.EvictedUnixMilli).UTC().Format("2006-01-02 15:04:05Z")
		if t.Reason == corrupt {
			return []plan.Reason{{Text: fmt.Sprintf("its result was found damaged on %s", when)}}
		}
		return []plan.Reason{{Text: fmt.Sprintf("its result was evicted on %s by %s", when, t.Reason)}}
	}
	if last.IsZero() {
		return []plan.Reason{{Text: firstRun}}
	}
	if last == d.id {
		return []plan.Reason{{Text: "its result is no longer in the cache"}}
	}
	rec, err := e.lookup(ctx, last)
	if err != nil || rec == nil {
		return []plan.Reason{{Text: forgotten}}
	}
	return diff(rec.Fields, d.fields)
}

// diff lists the differing fields of two keys: first in the order of the new
// key, then those that were removed.
func diff(before, after []digest.Field) []plan.Reason {
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
			a, b := shortPair(from, f.Value)
			reasons = append(reasons, plan.Reason{Field: f.Label, From: from, To: f.Value, Text: fmt.Sprintf("%s changed from %s to %s", f.Label, a, b)})
		}
	}
	for _, f := range before {
		if _, gone := old[f.Label]; gone {
			reasons = append(reasons, plan.Reason{Field: f.Label, From: f.Value, Text: fmt.Sprintf("%s was removed, it was %s", f.Label, short(f.Value))})
		}
	}
	return reasons
}

// maxShown is the maximum length of a value in a reason. before is the length
// of the common prefix that is shown before the first difference of two values.
const (
	maxShown = 60
	before   = 20
)

// shortPair shortens two different values. Of long values it shows the part
// around the first difference.
func shortPair(a, b string) (string, string) {
	if len(a) <= maxShown && len(b) <= maxShown || isDigest(a) {
		return short(a), short(b)
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-before)
	for from > 0 && from < len(a) && !utf8.RuneStart(a[from]) {
		from--
	}
	if from == 0 {
		return short(a), short(b)
	}
	return "…" + short(a[from:]), "…" + short(b[from:])
}

func isDigest(v string) bool {
	return len(v) == 2*digest.Size && strings.Trim(v, "0123456789abcdef") == ""
}

// Readable undoes JSON's escapes for HTML.
func Readable(v string) string { return unescaped.Replace(v) }

var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// short shortens digests and long strings for people.
func short(v string) string {
	v = Readable(v)
	if isDigest(v) {
		return v[:12]
	}
	if len(v) > maxShown {
		end := maxShown - len("…")
		for !utf8.RuneStart(v[end]) {
			end--
		}
		return v[:end] + "…"
	}
	if v == "" {
		return `""`
	}
	return v
}
