package view

import (
	"fmt"
	"io"

	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/plan"
)

// Explanation writes everything known of one instance: its action, the reason, and its
// key field by field.
func Explanation(w io.Writer, x *engine.Explanation, style Style) {
	fmt.Fprintf(w, "%s\n\n", style.Bold(OneLine(x.Plan.Name)))
	fmt.Fprintln(w, verdict(x.Plan.Action))
	for _, r := range x.Plan.Reasons {
		fmt.Fprintf(w, "  %s\n", OneLine(r.Text))
	}
	if x.Plan.ExpectedMillis > 0 {
		fmt.Fprintf(w, "Last time it took %s.\n", Millis(x.Plan.ExpectedMillis))
	}
	if x.Plan.ActionID == "" {
		fmt.Fprintf(w, "\nIts key is unknown until the steps it depends on have run.\n")
		writeKey(w, "Key of the last run:", x.Last)
		return
	}
	fmt.Fprintln(w)
	writeKey(w, "Key:", x.Plan.ActionID)
	if x.Last != x.Plan.ActionID {
		writeKey(w, "Key of the last run:", x.Last)
	}
	for _, f := range x.Fields {
		writeField(w, f, style)
	}
}

func verdict(a plan.Action) string {
	switch a {
	case plan.Run:
		return "It would run:"
	case plan.Deferred:
		return "It is decided later:"
	default:
		return "It is cached."
	}
}

func writeKey(w io.Writer, label, key string) {
	if key != "" {
		fmt.Fprintf(w, "%s %s\n", label, key)
	}
}

func writeField(w io.Writer, f engine.Field, style Style) {
	if f.Was != "" {
		fmt.Fprintf(w, "  %s %s = %s %s\n", style.Warn("~"), OneLine(f.Label), OneLine(engine.Readable(f.Value)), style.Dim("(was "+OneLine(engine.Readable(f.Was))+")"))
		return
	}
	fmt.Fprintf(w, "    %s = %s\n", OneLine(f.Label), OneLine(engine.Readable(f.Value)))
}
