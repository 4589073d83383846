package view

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
)

// Difference writes what differs between two runs; with verbose, the inputs of all steps.
func Difference(w io.Writer, d *results.Difference, style Style, verbose bool) error {
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
		list  []results.Change
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

func writeChanges(w io.Writer, style Style, title string, list []results.Change) error {
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

// shownSteps is how many changed steps are listed with their inputs.
const shownSteps = 20

func writeInputs(w io.Writer, style Style, steps []results.StepChange, verbose bool) error {
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

func writeScores(w io.Writer, style Style, scores []results.Score) error {
	if len(scores) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := NewTable("Scores", ">Was", ">Is", ">Difference")
	side := func(score *float64, outcome string) string {
		if score == nil {
			return outcome
		}
		return Score(*score)
	}
	for _, s := range scores {
		difference := ""
		if s.Difference != nil {
			difference = strconv.FormatFloat(*s.Difference, 'g', 6, 64)
			if *s.Difference > 0 {
				difference = "+" + difference
			}
		}
		t.Row(s.Address, side(s.Was, s.WasOutcome), side(s.Is, s.IsOutcome), difference)
	}
	return t.Write(w, style)
}

// brief is a value on one line, cut to fit a table.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return cmp.Or(text, "-")
}
