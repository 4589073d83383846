package view

import (
	"fmt"
	"io"
	"time"

	"github.com/mleflow/mleflow/engine/ledger"
)

// StepAddress is the address of a step in a summary.
func StepAddress(s ledger.StepSummary) string { return s.Address }

// Steps writes the steps of a run; with verbose, those that were not executed, too.
func Steps(w io.Writer, sum *ledger.Summary, style Style, verbose bool) error {
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
		outcome := string(s.Status)
		switch {
		case outcome != "":
		case sum.State == ledger.Running && !s.Started.IsZero():
			outcome, s.Duration = "running", time.Since(s.Started)
		default:
			outcome = "did not end"
		}
		row := []string{s.Address, outcome}
		if !s.Started.IsZero() {
			row = append(row, Duration(s.Duration), fmt.Sprint(s.Attempts))
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
