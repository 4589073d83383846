// Package diag reports errors in text that a person wrote: the error, its place
// and the remedy. Diagnostics are HCL's own, so ranges, snippets and wording
// are the same whether the parser, the language or a step kind found the error.
// All errors of a file are reported together.
package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	printable "github.com/mleflow/mleflow/cache/leaf/plain"
)

// List holds diagnostics in the order in which they were found. It is an error
// if one of them is.
type List = hcl.Diagnostics

// Error returns a diagnostic at r. The summary is a short sentence without a
// full stop. The detail states the expected input and the remedy. errors.Is
// finds errors among the arguments.
func Error(r hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: format(detail, args), Subject: r.Ptr()}
	var errs []error
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		d.Extra = quoted{errors.Join(errs...)}
	}
	return d
}

// Warning is like Error for a problem that need not stop the run.
func Warning(r hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	d := Error(r, summary, detail, args...)
	d.Severity = hcl.DiagWarning
	return d
}

// General returns an error diagnostic without a place in a file, for example
// about a flag.
func General(summary, detail string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: format(detail, args)}
}

// Failure returns a diagnostic for an error outside the written text, such as a
// failed read. err is the cause, and its message the detail.
func Failure(summary string, err error) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: Sentence(err.Error()), Extra: failure{err}}
}

// failure holds the error of a Failure. quoted holds the errors in the detail
// of another diagnostic.
type (
	failure struct{ err error }
	quoted  struct{ err error }
)

// Is reports whether the diagnostic was made from an error that matches target,
// in the sense of errors.Is. It includes diagnostics within that error.
func Is(d *hcl.Diagnostic, target error) bool {
	var err error
	switch extra := d.Extra.(type) {
	case failure:
		err = extra.err
	case quoted:
		err = extra.err
	}
	var list List
	return errors.Is(err, target) || errors.As(err, &list) && slices.ContainsFunc(list, func(d *hcl.Diagnostic) bool { return Is(d, target) })
}

// Sentence adds a full stop unless the string ends with a punctuation mark.
func Sentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}

// Cause joins the errors of the Failures in the list. It returns nil if all
// errors are mistakes in the written text.
func Cause(list List) error {
	var errs []error
	for _, d := range list {
		if f, ok := d.Extra.(failure); ok {
			errs = append(errs, f.err)
		}
	}
	return errors.Join(errs...)
}

func format(detail string, args []any) string {
	if len(args) == 0 {
		return detail
	}
	return fmt.Sprintf(detail, args...)
}

// Comparing long or many names is slow, and such names are hardly typos.
const maxCandidates, maxSimilar = 1000, 100

// Nearest returns the candidate most similar to name, or "" if none is similar
// enough for a typo. Of equally similar candidates, the first wins that begins as name does.
func Nearest(name string, candidates []string) string {
	best, bestDist := "", 1+len(name)/3
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if c == name || max(len(c), len(name)) > maxSimilar {
			continue
		}
		d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(c), nil)
		if d >= len(name) {
			continue // nothing in common
		}
		if d < bestDist || d == bestDist && (best == "" || best[0] != name[0] && c != "" && c[0] == name[0]) {
			best, bestDist = c, d
		}
	}
	return best
}

// DidYouMean returns ` Did you mean "x"?` for the nearest candidate, or "".
func DidYouMean(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return fmt.Sprintf(" Did you mean %q?", n)
	}
	return ""
}

// Suggest returns the complete hint for an unknown name: the nearest known
// name, or all of them.
func Suggest(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "Did you mean " + near + "?"
	}
	if len(known) == 0 {
		return "None is allowed here."
	}
	return "Allowed here: " + strings.Join(known, ", ") + "."
}

// Sources maps file names to their content, for snippets.
type Sources = map[string]*hcl.File

// WriteText writes the list for people, with source snippets, wrapped at width
// columns (0: not wrapped). It neutralizes control sequences in files and
// diagnostics.
func WriteText(w io.Writer, files Sources, list List, width uint, color bool) error {
	shown := make(Sources, len(files))
	for name, f := range files {
		c := *f
		c.Bytes = printable.Source(f.Bytes)
		shown[name] = &c
	}
	list = fit(plain(list[:min(len(list), MaxShown)]), len(list)-MaxShown)
	with, without := hcl.NewDiagnosticTextWriter(w, shown, width, color), hcl.NewDiagnosticTextWriter(w, nil, width, color)
	scanned := 0 // the writer reads the whole file for each snippet
	for i, d := range list {
		writer := with
		if d.Subject != nil {
			f := shown[d.Subject.Filename]
			if f != nil {
				scanned += len(f.Bytes)
			}
			if i > 0 && scanned > maxScanned || !short(f, d) {
				writer = without
			}
		}
		if err := writer.WriteDiagnostic(d); err != nil {
			return err
		}
	}
	return nil
}

// MaxShown is the maximum number of diagnostics shown. maxDetail bounds the
// text of each in bytes, and maxSnippet its source lines. maxScanned bounds the
// source bytes that are read for snippets.
const MaxShown, maxDetail, maxSnippet, maxScanned = 50, 4000, 2000, 2 << 20

// short reports whether the source lines of a diagnostic are short enough to
// show.
func short(f *hcl.File, d *hcl.Diagnostic) bool {
	r := *d.Subject
	if d.Context != nil {
		r = hcl.RangeOver(r, *d.Context)
	}
	if f == nil || r.Start.Byte > r.End.Byte || r.End.Byte > len(f.Bytes) {
		return true
	}
	start := bytes.LastIndexByte(f.Bytes[:r.Start.Byte], '\n') + 1
	end := bytes.IndexByte(f.Bytes[r.End.Byte:], '\n')
	if end < 0 {
		end = len(f.Bytes) - r.End.Byte
	}
	return r.End.Byte+end-start <= maxSnippet
}

// fit changes a list into a form that is safe to show. more is the number of omitted
// diagnostics.
func fit(list List, more int) List {
	for _, d := range list {
		d.Summary, d.Detail = string(printable.Source([]byte(d.Summary))), string(printable.Source([]byte(d.Detail)))
		if len(d.Detail) > maxDetail {
			d.Detail = strings.ToValidUTF8(d.Detail[:maxDetail], "") + "…"
		}
	}
	if more > 0 {
		list = append(list, General("More of these", "%d more are not shown.", more))
	}
	return list
}

// JSON is the machine-readable form of one diagnostic.
type JSON struct {
	Severity string     `json:"severity"`
	Summary  string     `json:"summary"`
	Detail   string     `json:"detail,omitempty"`
	Range    *JSONRange `json:"range,omitempty"`
}

// JSONRange is a range in a file. Lines and columns count from 1, bytes from 0.
type JSONRange struct {
	Filename string  `json:"filename"`
	Start    JSONPos `json:"start"`
	End      JSONPos `json:"end"`
}

// JSONPos is one position of a range.
type JSONPos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// ToJSON converts the list to its machine-readable form. The result is never
// nil.
func ToJSON(list List) []JSON {
	out := make([]JSON, 0, len(list))
	for _, d := range plain(list) {
		j := JSON{Severity: "error", Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			j.Severity = "warning"
		}
		if d.Subject != nil {
			j.Range = &JSONRange{Filename: d.Subject.Filename, Start: JSONPos(d.Subject.Start), End: JSONPos(d.Subject.End)}
		}
		out = append(out, j)
	}
	return out
}

// WriteJSON writes {"diagnostics": [...]} and a newline.
func WriteJSON(w io.Writer, list List) error {
	return json.NewEncoder(w).Encode(map[string]any{"diagnostics": ToJSON(list)})
}

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
