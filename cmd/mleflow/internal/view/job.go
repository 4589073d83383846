package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// jobText describes a job on a cluster: "pending on lab: Unschedulable: 0/3 nodes are
// available", "running on lab, node gpu-7".
func jobText(e event.StepJob) string {
	text := e.State + " on " + OneLine(e.On)
	if e.Node != "" {
		text += ", node " + OneLine(e.Node)
	}
	if e.Starts > 1 {
		text += fmt.Sprintf(", start %d", e.Starts)
	}
	if e.Adopted {
		text += ", adopted"
	}
	for _, why := range []string{e.Reason, e.Message} {
		if why != "" {
			text += ": " + OneLine(why)
		}
	}
	return text
}

// placeText names the node on which a step ran; "" for this machine.
func placeText(on, node string) string {
	switch {
	case on == "":
		return ""
	case node == "":
		return " on " + OneLine(on)
	}
	return " on " + OneLine(on) + "/" + OneLine(node)
}

// timelineCells is the width of a node's timeline.
const timelineCells = 40

// Nodes writes a run's use of a cluster: for each node its steps, GPU-hours, moved bytes,
// and a timeline of its workers. It writes nothing for no nodes.
func Nodes(w io.Writer, uses []history.NodeUse, style Style) error {
	if len(uses) == 0 {
		return nil
	}
	first, last := uses[0].First, uses[0].Last
	for _, u := range uses {
		if u.First.Before(first) {
			first = u.First
		}
		if u.Last.After(last) {
			last = u.Last
		}
	}
	t := NewTable("Backend", "Node", ">Steps", ">GPU-hours", ">Idle", ">Fetched", ">Stored", "Workers from "+first.Local().Format("15:04:05")+" to "+last.Local().Format("15:04:05"))
	for _, u := range uses {
		used, idle := "", ""
		if u.GPUs > 0 {
			used, idle = hours(u.GPUTime), hours(u.IdleGPUTime)
		}
		t.Row(u.On, u.Node, fmt.Sprint(u.Steps), used, idle, Bytes(u.FetchedBytes), Bytes(u.StoredBytes), timeline(u.Spans, first, last))
	}
	return t.Write(w, style)
}

func hours(d time.Duration) string { return fmt.Sprintf("%.2f", d.Hours()) }

// timeline draws the number of running workers over time: a digit per cell, "·" for none,
// "+" for more than nine.
func timeline(spans []history.Span, first, last time.Time) string {
	cell := max(last.Sub(first), timelineCells) / timelineCells
	var b strings.Builder
	for i := range time.Duration(timelineCells) {
		from, to := first.Add(i*cell), first.Add((i+1)*cell)
		n := 0
		for _, s := range spans {
			if s.Start.Before(to) && (s.End.After(from) || s.End.Equal(s.Start) && !s.Start.Before(from)) {
				n++
			}
		}
		switch {
		case n == 0:
			b.WriteRune('·')
		case n > 9:
			b.WriteRune('+')
		default:
			fmt.Fprint(&b, n)
		}
	}
	return b.String()
}
