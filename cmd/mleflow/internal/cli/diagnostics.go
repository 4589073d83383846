package cli

import (
	"fmt"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/diag"
)

// showDiagnostics writes diagnostics to the standard error: for people with
// the lines of the file they point at, or as JSON.
func (a *app) showDiagnostics(list diag.List, files diag.Sources) {
	if len(list) == 0 {
		return
	}
	var err error
	if a.json {
		err = diag.WriteJSON(a.stderr, list)
	} else {
		err = diag.WriteText(a.stderr, files, list, uint(max(0, view.Width(a.stderr))), a.errStyle().Colored())
	}
	if err != nil {
		fmt.Fprintln(a.stderr, list.Error())
	}
}
