package notify

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// note is one thing to tell.
type note struct {
	kind string
	// text is in words of the program. more may be text of an agent, a log or a cluster.
	text, more string
}

// kinds are the nouns that messages count, and the commands that show more. A budget has the
// percentage behind its name.
var kinds = map[string]struct{ noun, look string }{
	finished: {"", "show"}, "failed": {"failed step", "show"}, "stalled": {"stalled attempt", "attempts list"}, "waiting": {"wait", "attempts list"},
	"budget": {"budget", "attempts list"}, "disk": {"shortage of disk space", "show"}, "attempt scored": {"scored attempt", "leaderboard"}, "medal": {"medal", "leaderboard"},
}

// quiet is how long the same wait is not told again.
const quiet = time.Hour

// facts are what is known of a run.
type facts struct {
	start event.RunStarted
	// percents are those of budgets that are to be told.
	percents []int64
	// limits are the budgets of money by attempt, and that of the run by wholeRun; paid is
	// what was spent of them, in billionths of a US dollar.
	limits, paid map[string]int64
	told         map[string]time.Time
}

// wholeRun stands for the address of a run.
const wholeRun = "the run"

// limitsOf returns the budgets of money in a pipeline. Where a model has none, it is 0.
func limitsOf(p *engine.Program) map[string]int64 {
	limits, run := map[string]int64{}, map[string]int64{}
	for i, inst := range p.Instances {
		if inst.Step.Kind.Name != conditions.AttemptKind {
			continue
		}
		args, _ := p.Args(i) // the plan reports what is wrong
		own := map[string]int64{}
		for name, b := range args.ModelBudgets() {
			attempt, _ := gateway.ParseDollars(b.Attempt.Cost) // 0 without one
			whole, _ := gateway.ParseDollars(b.Run.Cost)
			own[name], run[name] = int64(attempt), int64(whole)
		}
		limits[inst.Addr.String()] = sum(own)
	}
	limits[wholeRun] = sum(run)
	return limits
}

// sum returns the sum of budgets; 0 if one is.
func sum(budgets map[string]int64) (all int64) {
	for _, b := range budgets {
		if b == 0 {
			return 0
		}
		all += b
	}
	return all
}

// due reports whether something was not told for some time, and notes that it is told now.
func (f *facts) due(what string, at time.Time, pause time.Duration) bool {
	if last, ok := f.told[what]; ok && at.Sub(last) < pause {
		return false
	}
	f.told[what] = at
	return true
}

// look returns what is to be told of an event.
func (f *facts) look(e event.Event) []note {
	switch e := e.(type) {
	case event.RunStarted:
		f.start = e
	case event.StepPhase:
		return f.spent(e)
	case event.StepFinished:
		return ended(e)
	case event.StepWaiting:
		kind, what := "waiting", "another process, which runs the same"
		if e.Bytes > 0 {
			kind, what = "disk", view.Bytes(e.Bytes)+" of disk space"
		}
		if f.due(kind+e.Address, e.Time, quiet) {
			return []note{{kind: kind, text: e.Address + " waits for " + what}}
		}
	case event.Waiting:
		return f.waiting(e)
	case event.StepJob:
		if (e.State == event.JobPending || e.State == event.JobQueued) && e.Reason != "" && f.due("job "+e.On+" "+e.Reason, e.Time, quiet) {
			return []note{{"waiting", "jobs on " + e.On + " have not started", e.Reason}}
		}
	case event.RunFinished:
		if e.Ran+e.Failed+e.Cancelled > 0 {
			return []note{{kind: finished, text: ending(e)}}
		}
	case event.Stalled:
		if !e.Over {
			return []note{{kind: "stalled", text: e.Address + ": " + view.StallText(e.Stall)}}
		}
	}
	return nil
}

func (f *facts) waiting(e event.Waiting) (list []note) {
	for _, w := range e.For {
		kind, what := "waiting", w.Resource+", which other processes hold"
		switch {
		case w.Resource == "disk":
			kind, what = "disk", "disk space"
		case !w.Elsewhere:
			continue // this run is busy
		}
		if f.due(kind+what, e.Time, quiet) {
			list = append(list, note{kind: kind, text: view.Verb(w.Steps, "step", "waits", "wait") + " for " + what})
		}
	}
	return list
}

// spent returns the percentages of budgets that an attempt and its run have reached.
func (f *facts) spent(e event.StepPhase) (list []note) {
	more := e.Cost - f.paid[e.Address]
	if more <= 0 {
		return nil
	}
	for _, of := range []string{wholeRun, e.Address} {
		f.paid[of] += more
		for _, percent := range f.percents {
			kind, limit := fmt.Sprintf("budget %d%%", percent), f.limits[of]
			if limit > 0 && float64(f.paid[of]) >= float64(limit)*float64(percent)/100 && f.due(kind+of, e.Time, math.MaxInt64) {
				list = append(list, note{kind: kind, text: fmt.Sprintf("%s has spent %v of %v USD", of, gateway.Dollars(f.paid[of]), gateway.Dollars(limit))})
			}
		}
	}
	return list
}

// ended returns what is to be told of the end of a step.
func ended(e event.StepFinished) (list []note) {
	output := func(name string) (text string) {
		_ = json.Unmarshal([]byte(e.Outputs[name]), &text) // another value is none
		return text
	}
	end, medal := output("outcome"), output("medal")
	switch {
	case e.Status == event.Failed:
		return []note{{"failed", e.Address, e.Error}}
	case e.Status != event.Ran:
		return nil
	case end == string(outcome.OutOfDisk):
		list = append(list, note{kind: "disk", text: e.Address + " ran out of disk space"})
	case e.Kind == conditions.GradeKind:
		text := end
		if score := (*float64)(nil); json.Unmarshal([]byte(e.Outputs["score"]), &score) == nil && score != nil {
			text = fmt.Sprintf("%.6g", *score)
		}
		list = append(list, note{kind: "attempt scored", text: e.Address + ": " + text})
		if medal != "" && medal != "none" {
			list = append(list, note{kind: "medal", text: e.Address + ": " + medal})
		}
	}
	return list
}

// ending says how a run ended.
func ending(e event.RunFinished) string {
	how := map[event.Status]string{event.Ran: "finished", event.Failed: "failed", event.Cancelled: view.Either(e.Paused, "paused", "interrupted")}[e.Status]
	var counts view.Parts
	counts.Count(e.Ran, "ran")
	counts.Count(e.Cached, "cached")
	counts.Count(e.Failed, "failed")
	counts.Count(e.Skipped, "skipped")
	counts.Count(e.Cancelled, "cancelled")
	return fmt.Sprintf("%s after %s: %s", how, view.Millis(e.DurationMillis), counts.Join(", "))
}
