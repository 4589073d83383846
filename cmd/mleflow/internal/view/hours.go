package view

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
)

// StalledFor says how long an attempt has stood still: "stalled 12m".
func StalledFor(s step.Stall, now time.Time) string {
	return "stalled " + Roughly(max(0, now.Sub(s.Since)))
}

// StallText is the evidence for a stall: "no request to a model since 14:02:11, …".
func StallText(s step.Stall) string {
	since := func(what string, at time.Time) string {
		if at.IsZero() {
			return "no " + what
		}
		return "no " + what + " since " + at.Local().Format(time.TimeOnly)
	}
	e := s.Evidence
	return Parts{since("request to a model", e.Model), since("processor time", e.Processor), since("changed file", e.File), since("output", e.Log)}.Join(", ")
}

// Hours writes where the time of attempts went, by agent and at the end of all.
func Hours(w io.Writer, rows []*results.Hours, style Style) {
	if rows == nil {
		fmt.Fprintln(w, "No attempt ran in this run, or its journal does not say where the time went.")
		return
	}
	t := NewTable("Agent", "Part", ">Time", ">Share", ">GPU hours")
	for _, h := range rows {
		t.Row(cmp.Or(h.Agent, "all agents"), Plural(h.Attempts, "attempt")+HourCost(h), HourText(h.WallSeconds), "", When(h.GPUHours > 0, fmt.Sprintf("%.2f", h.GPUHours)))
		for _, p := range h.Parts {
			if p.Seconds == nil {
				t.Row("", p.Name, "not measured")
			} else if *p.Seconds > 0 {
				t.Row("", p.Name, HourText(*p.Seconds), fmt.Sprintf("%.0f%%", 100**p.Seconds/h.WallSeconds), When(p.GPUHours > 0, fmt.Sprintf("%.2f", p.GPUHours)))
			}
		}
	}
	t.section(w, style)
}

// HourCost is what the models cost, as the rest of a text; "" if that is not known.
func HourCost(h *results.Hours) string {
	if h.CostUSD == nil {
		return ""
	}
	return ", models " + Dollars(int64(*h.CostUSD*1e9))
}

// HourText writes a number of seconds as a duration.
func HourText(seconds float64) string { return Duration(time.Duration(seconds * float64(time.Second))) }
