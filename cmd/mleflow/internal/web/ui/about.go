package ui

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// aboutData is the page of what an attempt was allowed and what it used.
type aboutData struct {
	Stats, Models, Limits, Fields, Packages []page.Fact
	Missing, RunNote                        string
	Environment                             history.Info
}

// about is the attempt's limits, environment, figures and key.
func about(_ context.Context, a *shownAttempt, _ url.Values) aboutData {
	d := aboutData{Missing: a.missing, Packages: packagesOf(a)}
	if a.stats != nil {
		d.Stats = statFacts(a.stats)
		for _, name := range sortedKeys(a.stats.Models) {
			d.Models = append(d.Models, page.Fact{Name: name, Value: modelText(a.stats.Models[name])})
		}
	}
	for _, f := range a.fields() {
		if agentrun.IsLimit(f.Name) {
			d.Limits = append(d.Limits, f)
		} else {
			d.Fields = append(d.Fields, f)
		}
	}
	past := a.past
	if a.record != nil && a.record.Run != "" && a.record.Run != a.run.ID {
		d.RunNote = "The attempt was executed by the run " + a.record.Run
		if other, err := a.History.Open(a.record.Run); err == nil {
			past = other
			d.RunNote += "."
		} else {
			d.RunNote += ", which is not in this run history; this is the environment of the present one."
		}
	}
	d.Environment = past.Info
	return d
}

// packagesOf returns the packages of the agent's Python environment, as listed by the step
// that installed them.
func packagesOf(a *shownAttempt) (facts []page.Fact) {
	for _, address := range a.after {
		var versions map[string]string
		if s := a.run.Step(address); s != nil && s.Kind == "python" && decode(s.Outputs["packages"], &versions) {
			for _, name := range sortedKeys(versions) {
				facts = append(facts, page.Fact{Name: name, Value: versions[name]})
			}
		}
	}
	return facts
}

func statFacts(s *agentrun.Stats) []page.Fact {
	facts := []page.Fact{{Name: "wall time", Value: view.Duration(seconds(s.WallSeconds))}, {Name: "processor time", Value: view.Duration(seconds(s.CPUSeconds))},
		{Name: "peak memory", Value: view.Bytes(s.PeakMemoryBytes)}, {Name: "exit status", Value: fmt.Sprint(s.ExitCode)}, {Name: "runtime", Value: s.Runtime},
		{Name: "isolated", Value: yes(s.Isolated)}, {Name: "network", Value: s.Network}, {Name: "connections", Value: fmt.Sprint(s.Connections)}, {Name: "validity calls", Value: fmt.Sprint(s.Validations)},
		{Name: "refused calls of mlebench", Value: fmt.Sprint(s.ShimCalls)}, {Name: "resumed", Value: yes(s.Resumed)}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, page.Fact{Name: name, Value: value})
		}
	}
	add("devices", strings.Join(s.Devices, ", "))
	for _, what := range sortedKeys(s.Enforced) {
		add("limit of "+what+" held by", s.Enforced[what])
	}
	add("lost services", strings.Join(s.LostServices, ", "))
	add("not harvested", strings.Join(s.LeftOut, "; "))
	if s.LeftoverProcesses > 0 {
		add("processes left at the end", fmt.Sprint(s.LeftoverProcesses))
	}
	if s.LogBytesDropped > 0 {
		add("log left out", view.Bytes(s.LogBytesDropped))
	}
	return facts
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func modelText(u results.ModelUse) string {
	parts := []string{u.Provider + " " + strings.Join(u.Models, ", "), view.Plural(int(u.Requests), "request"),
		view.Count(u.InputTokens) + " tokens in (" + view.Count(u.CachedInputTokens) + " cached)", view.Count(u.OutputTokens) + " out (" + view.Count(u.ReasoningTokens) + " reasoning)", u.Charges()}
	for _, n := range []struct {
		n    int64
		what string
	}{{u.Refused, "refused"}, {u.Failed, "failed"}, {u.Retries, "retries"}, {u.Replayed, "replayed"}, {u.Unreported, "without reported usage"}} {
		if n.n > 0 {
			parts = append(parts, view.Count(n.n)+" "+n.what)
		}
	}
	parts = append(parts, "first byte after "+view.Duration(seconds(u.FirstByteMedian))+" (median), "+view.Duration(seconds(u.FirstByteLongest))+" (longest)", "waited "+view.Duration(seconds(u.WaitedSeconds)))
	if u.Exhausted {
		parts = append(parts, "budget exhausted")
	}
	return strings.Join(parts, " · ")
}
