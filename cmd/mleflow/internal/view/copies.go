package view

import (
	"fmt"
	"io"

	"github.com/mleflow/mleflow/engine/plan"
)

// Copies of at least this size, or of this many files, get a warning.
const (
	manyBytes = 64 << 20
	manyFiles = 1000
)

// copies writes the copies that are made before steps run.
func copies(w io.Writer, c *plan.Copies, style Style) {
	if c == nil {
		return
	}
	head := style.Bold("Copies:")
	if c.Bytes >= manyBytes || c.Files >= manyFiles {
		head = style.Warn("Copies:")
	}
	switch {
	case c.Copies == 0:
		fmt.Fprintf(w, "%s %s of yet unknown size", head, Plural(c.Unknown, "input"))
	case c.Copies == 1:
		fmt.Fprintf(w, "%s %s in %s", head, Bytes(c.Bytes), Plural(int(c.Files), "file"))
	default:
		fmt.Fprintf(w, "%s %s in %s, of %s", head, Bytes(c.Bytes), Plural(int(c.Files), "file"), Plural(c.Copies, "input"))
	}
	if c.Copies > 0 && c.Unknown > 0 {
		fmt.Fprintf(w, ", and %s of yet unknown size", Plural(c.Unknown, "further input"))
	}
	fmt.Fprintf(w, " will be copied, since %s.\n", OneLine(c.Why))
}
