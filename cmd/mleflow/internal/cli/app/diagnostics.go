package app

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/diag"
)

// ShowDiagnostics writes diagnostics to the standard error: for people with
// the lines of the file they point at, or as JSON.
func (t *Terminal) ShowDiagnostics(list diag.List, files diag.Sources) {
	if len(list) == 0 {
		return
	}
	list = Merge(list)
	var err error
	if t.JSON {
		err = diag.WriteJSON(t.Stderr, list)
	} else {
		err = diag.WriteText(t.Stderr, files, list, uint(max(0, view.Width(t.Stderr))), t.ErrStyle().Colored())
	}
	if err != nil {
		fmt.Fprintln(t.Stderr, list.Error())
	}
}

// Merge shows a mistake that many instances of a block share once, with the
// first instance's detail and the number of the others.
func Merge(list diag.List) diag.List {
	type place struct {
		summary string
		at      hcl.Range
	}
	var out diag.List
	first := map[place]*hcl.Diagnostic{}
	more := map[*hcl.Diagnostic]int{}
	for _, d := range list {
		if d.Subject == nil {
			out = append(out, d)
			continue
		}
		key := place{d.Summary, *d.Subject}
		if known := first[key]; known != nil {
			more[known]++
			continue
		}
		shown := *d
		first[key] = &shown
		out = append(out, &shown)
	}
	for d, n := range more {
		d.Detail += fmt.Sprintf(" (And %d more here.)", n)
	}
	return out
}
