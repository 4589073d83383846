package view

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Difference writes what differs between two runs; with verbose, the inputs of all steps.
func Difference(w io.Writer, d *outputs.Difference, style Style, verbose bool) error {
	fmt.Fprintf(w, "%s\n", style.Bold("From run "+d.From+" to "+d.To))
	if d.Empty() {
		fmt.Fprintln(w, "No differences.")
		return nil
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
		if err := writeChanges(w, style, part.title, part.list); err != nil {
			return err
		}
	}
	if err := writeInputs(w, style, d.Steps, verbose); err != nil {
		return err
	}
	if err := writeScores(w, style, d.Scores); err != nil {
		return err
	}
	if len(d.MedalsWon)+len(d.MedalsLost) > 0 {
		names := func(list []outputs.Change) (out []string) {
			for _, c := range list {
				out = append(out, fmt.Sprintf("%s (%s, was %s)", c.Name, c.Is, c.Was))
			}
			return out
		}
		fmt.Fprintf(w, "\n%s\n", OneLine(MedalsText(names(d.MedalsWon), names(d.MedalsLost))))
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
	return nil
}

func writeChanges(w io.Writer, style Style, title string, list []outputs.Change) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := NewTable(title, "Was", "Is")
	for _, c := range list {
		t.Row(c.Name, brief(c.Was), brief(c.Is))
	}
	return t.Write(w, style)
}

// shownSteps is the number of changed steps that are listed with their inputs.
const shownSteps = 20

func writeInputs(w io.Writer, style Style, steps []outputs.StepChange, verbose bool) error {
	if len(steps) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := NewTable("Inputs of steps", "Input", "Was", "Is")
	for i, s := range steps {
		if i == shownSteps && !verbose {
			t.Row(fmt.Sprintf("… and %s more (-v lists them)", Plural(len(steps)-i, "step")))
			break
		}
		if len(s.Inputs) == 0 {
			t.Row(s.Address, cmp.Or(s.Note, "another key"))
		}
		for k, c := range s.Inputs {
			address := s.Address
			if k > 0 {
				address = ""
			}
			t.Row(address, c.Name, brief(c.Was), brief(c.Is))
		}
	}
	return t.Write(w, style)
}

func writeScores(w io.Writer, style Style, scores []outputs.Score) error {
	if len(scores) == 0 {
		return nil
	}
	fmt.Fprintln(w)
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
	return t.Write(w, style)
}

// MedalsText names where medals were won and where they were lost.
func MedalsText(won, lost []string) string {
	return fmt.Sprintf("Medals won: %s. Medals lost: %s.", cmp.Or(plain.List(won), "none"), cmp.Or(plain.List(lost), "none"))
}

// brief returns a value on one line, cut to fit a table.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return cmp.Or(text, "-")
}

// StepAddress is the address of a step in a summary.
func StepAddress(s history.StepSummary) string { return s.Address }

// Steps writes the steps of a run; with verbose, those that were not executed, too.
func Steps(w io.Writer, sum *history.Summary, style Style, verbose bool) error {
	heads := []string{"Step", "Outcome", ">Took", ">Attempts"}
	nodes := sum.Nodes()
	if nodes != nil {
		heads = append(heads, "Node")
	}
	t := NewTable(heads...)
	left := 0
	for _, s := range InOrder(sum.Steps, StepAddress) {
		if s.Started.IsZero() && !verbose {
			left++
			continue
		}
		row := []string{s.Address, sum.StatusOf(&s)}
		if s.Status == "" {
			s.Duration = sum.Took(&s, time.Now())
		}
		if !s.Started.IsZero() {
			row = append(row, Duration(s.Duration), fmt.Sprint(s.LastTry))
			if nodes != nil {
				row = append(row, s.Node)
			}
		}
		t.Row(row...)
	}
	if t.Len() > 0 {
		fmt.Fprintln(w)
		if err := t.Write(w, style); err != nil {
			return err
		}
	}
	if nodes != nil {
		fmt.Fprintln(w)
		if err := Nodes(w, nodes, style); err != nil {
			return err
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "\n%s not executed (-v lists them).\n", Plural(left, "step"))
	}
	return nil
}
