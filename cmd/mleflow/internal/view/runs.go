package view

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Difference writes what differs between two runs; with verbose, the inputs of all steps.
func Difference(w io.Writer, d *outputs.Difference, style Style, verbose bool) {
	fmt.Fprintf(w, "%s\n", style.Bold("From run "+d.From+" to "+d.To))
	if d.Empty() {
		fmt.Fprintln(w, "No differences.")
		return
	}
	if d.Pipeline {
		fmt.Fprintln(w, "The pipeline, or a file that it reads, has changed.")
	}
	for _, part := range []struct {
		title string
		list  []outputs.Change
	}{
		{"Variables", d.Variables}, {"Environment", d.Environment}, {"Steps of one run only", d.Only}, {"Outcomes", d.Outcomes}, {"Outputs", d.Outputs},
	} {
		t := NewTable(part.title, "Was", "Is")
		for _, c := range part.list {
			t.Row(c.Name, brief(c.Was), brief(c.Is))
		}
		t.section(w, style)
	}
	inputsTable(d.Steps, verbose).section(w, style)
	scoresTable(d.Scores).section(w, style)
	if len(d.MedalsWon)+len(d.MedalsLost) > 0 {
		name := func(c outputs.Change) string { return fmt.Sprintf("%s (%s, was %s)", c.Name, c.Is, c.Was) }
		fmt.Fprintf(w, "\n%s\n", OneLine(MedalsText(lists.Of(d.MedalsWon, name), lists.Of(d.MedalsLost, name))))
	}
	for _, c := range d.Agents {
		fmt.Fprintf(w, "\n%s\n", OneLine(c.Sentence))
		for _, side := range [][2]string{{d.From, c.FromAside}, {d.To, c.ToAside}} {
			if side[1] != "" {
				fmt.Fprintf(w, "Of run %s, %s.\n", side[0], OneLine(side[1]))
			}
		}
	}
	for _, side := range []struct {
		run       string
		untrusted bool
	}{{d.From, d.FromUntrusted}, {d.To, d.ToUntrusted}} {
		if side.untrusted {
			fmt.Fprintf(w, "%s attempts of run %s were not isolated.\n", style.Bad("Untrusted:"), side.run)
		}
	}
}

// shownSteps is the number of changed steps that are listed with their inputs.
const shownSteps = 20

func inputsTable(steps []outputs.StepChange, verbose bool) *Table {
	t := NewTable("Inputs of steps", "Input", "Was", "Is")
	for i, s := range steps {
		if i == shownSteps && !verbose {
			t.Row(fmt.Sprintf("… and %s more (-v lists them)", Plural(len(steps)-i, "step")))
			break
		}
		if len(s.Inputs) == 0 {
			t.Row(s.Address, cmp.Or(s.Note, "another key"))
		}
		address := s.Address
		for _, c := range s.Inputs {
			t.Row(address, c.Name, brief(c.Was), brief(c.Is))
			address = "" // it is written once
		}
	}
	return t
}

func scoresTable(scores []outputs.Score) *Table {
	t := NewTable("Scores", ">Was", ">Is", ">Difference")
	side := func(score *float64, outcome string) string {
		if score == nil {
			return outcome
		}
		return aggregate.ScoreText(*score)
	}
	for _, s := range scores {
		difference := ""
		if s.Difference != nil {
			if difference = aggregate.ScoreText(*s.Difference); math.Abs(*s.Difference) < 1e-5 {
				difference = strconv.FormatFloat(*s.Difference, 'g', 3, 64)
			}
			if *s.Difference > 0 {
				difference = "+" + difference
			}
		}
		t.Row(s.Address, side(s.Was, s.WasOutcome), side(s.Is, s.IsOutcome), difference)
	}
	return t
}

// MedalsText names where medals were won and where they were lost.
func MedalsText(won, lost []string) string {
	return fmt.Sprintf("Medals won: %s. Medals lost: %s.", cmp.Or(plain.List(won), "none"), cmp.Or(plain.List(lost), "none"))
}

// brief returns a value on one line, cut to fit a table.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > 40 {
		return Cut(text, 39)
	}
	return cmp.Or(text, "-")
}

// StepAddress is the address of a step in a summary.
func StepAddress(s history.StepSummary) string { return s.Address }

// Steps writes the steps of a run; with verbose, those that were not executed, too.
func Steps(w io.Writer, sum *history.Summary, style Style, verbose bool) {
	heads := []string{"Step", "Outcome", ">Took", ">Attempts"}
	nodes := sum.Nodes()
	if len(nodes) > 0 {
		heads = append(heads, "Node")
	}
	t := NewTable(heads...)
	left := 0
	for _, s := range InOrder(sum.Steps, StepAddress) {
		if s.Started.IsZero() && !verbose && s.Reason == "" {
			left++
			continue
		}
		row := []string{s.Address, sum.StatusOf(&s) + After(": ", OneLine(s.Reason))}
		if s.Status == "" {
			s.Duration = sum.Took(&s, time.Now())
		}
		if !s.Started.IsZero() {
			row = append(row, Duration(s.Duration), fmt.Sprint(s.LastTry), s.Node)
		}
		t.Row(row...)
	}
	t.section(w, style)
	nodesTable(nodes).section(w, style)
	fmt.Fprint(w, When(left > 0, "\n"+Plural(left, "step")+" not executed (-v lists them).\n"))
}

// jobText describes a job on a cluster: "pending on lab: Unschedulable: 0/3 nodes are
// available", "running on lab, node gpu-7".
func jobText(e event.StepJob) string {
	return e.State + " on " + OneLine(e.On) + After(", node ", OneLine(e.Node)) +
		When(e.Starts > 1, fmt.Sprintf(", start %d", e.Starts)) + When(e.Adopted, ", adopted") +
		After(": ", OneLine(e.Reason)) + After(": ", OneLine(e.Message))
}

// placeText names the node on which a step ran; "" for this machine.
func placeText(on, node string) string {
	return When(on != "", " on "+OneLine(on)+After("/", OneLine(node)))
}

// timelineCells is the width of a node's timeline.
const timelineCells = 40

// nodesTable is a run's use of a cluster: for each node its steps, GPU-hours, moved bytes, and
// a timeline of its workers.
func nodesTable(uses []history.NodeUse) *Table {
	var first, last time.Time
	for _, u := range uses {
		if first.IsZero() || u.First.Before(first) {
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
	return t
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

// GivenVariables are the values that a command line gives to variables.
func GivenVariables(argv []string) string {
	var given []string
	for i, arg := range argv {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || name != "var":
		case joined:
			given = append(given, value)
		case i+1 < len(argv):
			given = append(given, argv[i+1])
		}
	}
	return strings.Join(given, " ")
}
