package runs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// settings names what runs set changes.
const settings = "write parallelism=4, gpus=2, budget=100USD or deadline=2026-12-01T08:00"

// Setting reads a setting of a run.
func Setting(arg string) (r step.Request, err error) {
	name, value, _ := strings.Cut(arg, "=")
	wrong := func(needs string) (step.Request, error) {
		return step.Request{}, app.Usagef("%s=%.80s: %s is %s", name, value, name, needs)
	}
	switch name {
	case "budget":
		amount, err := gateway.ParseDollars(strings.TrimSuffix(value, "USD"))
		if err != nil || amount <= 0 {
			return wrong("the whole amount that the run may cost, above 0, such as 100USD")
		}
		return step.Request{Act: step.SetBudget, Budget: int64(amount)}, nil
	case "deadline":
		for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339} {
			if at, err := time.ParseInLocation(layout, value, time.Local); err == nil {
				return step.Request{Act: step.SetDeadline, Until: at.UTC()}, nil
			}
		}
		return wrong("a date and time such as 2026-12-01T08:00")
	case "parallelism":
		if r.Value, err = strconv.Atoi(value); err != nil || r.Value < 1 {
			return wrong("an integer of at least 1; mleflow runs pause stops a run for a while")
		}
		r.Act = step.SetParallelism
	case "gpus":
		if r.Value, err = strconv.Atoi(value); err != nil || r.Value < 0 {
			return wrong("an integer of at least 0")
		}
		r.Act = step.SetGPUs
	default:
		return r, app.Usagef("%.80q sets nothing; %s", arg, settings)
	}
	return r, nil
}

// nextApply says what follows from a request to a run that does not live.
const nextApply = "the run does not live: the next apply does it; an agent that was left running goes on until then"

// waits reports whether a run was interrupted, and the next apply goes on with it.
func waits(a *app.App, past *history.Past) bool {
	l, err := a.OpenHistory()
	return err == nil && l.Continues(past)
}

// interrupted returns the user's runs that the next apply of their pipeline goes on with.
func interrupted(l *history.Store, entries []history.Entry) (list []*history.Past) {
	for _, e := range entries {
		if e.State != history.Interrupted || e.OfOthers() {
			continue
		}
		if past, err := l.Open(e.ID); err == nil && l.Continues(past) {
			list = append(list, past)
		}
	}
	return list
}

// unmet returns what the next apply is asked, if the run does not live.
func unmet(a *app.App, past *history.Past) ([]event.Steered, error) {
	if past.Entry().State == history.Running || !waits(a, past) {
		return nil, nil
	}
	list, err := past.Unmet()
	return lists.Of(list, func(r step.Request) event.Steered {
		return event.Steered{At: event.At{Time: r.Time}, Request: r, Effect: nextApply}
	}), err
}

// left answers for a run that does not live.
func left(a *app.App, q *asking) *event.Steered {
	s := &event.Steered{At: event.Now(), Request: q.Request, Effect: nextApply}
	list, err := q.past.Unmet()
	switch {
	case err != nil:
		s.Effect, s.Refused = "", err.Error()
	case !slices.ContainsFunc(list, func(r step.Request) bool { return r.ID == q.ID }):
		s.Effect, s.Refused = "", "it has ended"
	case !waits(a, q.past):
		s.Effect, s.Refused = "", "another run of the pipeline has begun meanwhile; ask that"
	}
	return s
}
