package diag

import (
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"
)

// Summaries of the parser and the expression language whose details are
// rephrased.
const (
	oneLineBlock  = "Invalid single-argument block definition"
	multiLineText = "Invalid multi-line string"
	unclosedText  = "Unterminated template string"
)

// plain rephrases messages of the parser and the expression language that use
// internal terms, and removes messages that only repeat another. It does not
// change the list.
func plain(list List) List {
	unclosed := slices.ContainsFunc(list, func(d *hcl.Diagnostic) bool { return d.Summary == unclosedText })
	out := make(List, 0, len(list))
	for _, d := range list {
		if unclosed && d.Summary == multiLineText {
			continue // each line after the open quotation mark has one
		}
		c := *d
		c.Detail = plainDetail(d)
		out = append(out, &c)
	}
	return out
}

func plainDetail(d *hcl.Diagnostic) string {
	switch {
	case d.Summary == oneLineBlock:
		return "A one-line block can hold only one argument. Write each argument on its own line, and the closing brace after them."
	case d.Summary == unclosedText:
		return "A string is not closed: the closing quotation mark is missing, or the line that ends a heredoc (<<)."
	case panicked(d):
		call, _, _ := strings.Cut(d.Detail, " failed:")
		return call + " failed: it has no result for these arguments."
	}
	return strings.ReplaceAll(d.Detail, "?.", "?")
}

// panicked reports whether a function of the language panicked.
func panicked(d *hcl.Diagnostic) bool {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	var bad function.PanicError
	return ok && errors.As(call.FunctionCallError(), &bad)
}
