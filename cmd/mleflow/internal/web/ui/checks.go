package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/check"
)

const (
	// maxLines is the largest number of shown entries of a log of calls, maxJournal the
	// number of bytes read of it.
	maxLines   = 500
	maxJournal = 4 << 20
)

// call is an entry of a log of calls, or what a rule found.
type call struct {
	Time                                              time.Time
	Check, What, Verdict, Class, Where, Note, Excerpt string
}

// checkColumns are those of the table of an attempt's checks.
var checkColumns = []page.Column[call]{
	{Key: "what", Title: "What", Text: func(c call) string { return oneLine(c.What, 300) }},
	{Key: "check", Title: "Check", Text: func(c call) string { return c.Check }},
	{Key: "verdict", Title: "Verdict", Kind: page.Ends, Of: func(c call) cell { return cell{Text: oneLine(c.Verdict, 40), Class: c.Class} }},
	{Key: "note", Title: "Note", Long: true, Text: func(c call) string { return oneLine(c.Note, 500) }},
	{Key: "where", Title: "Where", Text: func(c call) string { return oneLine(c.Where, 300) }},
	{Key: "excerpt", Title: "Excerpt", Long: true, Text: func(c call) string { return c.Excerpt }},
	{Key: "time", Title: "Time (UTC)", Kind: page.Moments, Of: func(c call) cell {
		return cell{Text: c.Time.UTC().Format("15:04:05"), Value: float64(c.Time.UnixMilli()) / 1000}.If(!c.Time.IsZero())
	}},
}

// addChecks lists the agent's requests to servers, its calls that were refused and what rules
// found.
func addChecks(c *content, r *http.Request, a *shownAttempt) {
	t := &table{Noun: "check", Empty: "Nothing was checked.", Path: a.action(), Keep: []string{"address", "tab"}, Placeholder: "host, rule, file, note", Facets: []string{"check", "verdict"}}
	var list []call
	d := struct {
		Missing  []string
		Findings findings
	}{Findings: findingsOf(r.Context(), a)}
	d.Missing = append(d.Missing, addCalls(r.Context(), a, &list, "validation_log", "validity call", "The agent never asked the validity server.", validityCall),
		addCalls(r.Context(), a, &list, "network_log", "connection", "No connection went through the proxy.", connectionCall),
		addCalls(r.Context(), a, &list, "shim_log", "refused call", "No call of mlebench was refused.", func(r shim.Record) call {
			return call{Time: r.Time, What: r.Call, Verdict: string(r.Kind), Class: "bad", Where: fmt.Sprintf("%s:%d", r.File, r.Line)}
		}))
	d.Missing = slices.DeleteFunc(d.Missing, func(why string) bool { return why == "" })
	fillTable(t, checkColumns, append(list, d.Findings.Rows...), func(call) gridLine { return gridLine{} })
	t.show(c, r)
	c.show("checks", "checks", d)
}

// addCalls adds an output of JSON lines to a list of checks. A function turns each line into
// a call. It returns why there is none, or that not all are shown.
func addCalls[T any](ctx context.Context, a *shownAttempt, list *[]call, name, check, empty string, read func(T) call) string {
	text, why := a.blob(ctx, name, maxJournal)
	n := 0
	for entry := range jsonLines[T](text) {
		if n == maxLines {
			return fmt.Sprintf("Of the checks %q only the first %d are shown; mleflow get copies the whole log.", check, n)
		}
		c := read(entry)
		c.Check = check
		*list = append(*list, c)
		n++
	}
	if why == "" && n == 0 {
		return empty
	}
	return why
}

func validityCall(v validity.Call) call {
	c := call{Time: v.Time, What: view.Bytes(v.Bytes), Verdict: "valid", Note: v.Reason}
	if v.SHA256 != "" {
		c.What += ", " + v.SHA256[:min(12, len(v.SHA256))]
	}
	switch {
	case v.Error != "":
		c.Verdict, c.Note, c.Class = "not checked", v.Error, "bad"
	case !v.Valid:
		c.Verdict, c.Class = "invalid", "bad"
	}
	return c
}

func connectionCall(n proxy.Conn) call {
	return call{Time: n.Time, Class: view.When(n.Reason != "", "bad"), What: strings.TrimSpace(n.Method + " " + n.Host + ":" + strconv.Itoa(int(n.Port))), Verdict: n.Verdict,
		Note: strings.TrimSpace(n.Reason + fmt.Sprintf(" %s up, %s down, %s", view.Bytes(n.Up), view.Bytes(n.Down), view.Duration(view.Seconds(n.Seconds))))}
}

// jsonLines decodes lines of JSON, and passes over those of another form.
func jsonLines[T any](text []byte) iter.Seq[T] {
	return func(yield func(T) bool) {
		for line := range bytes.Lines(text) {
			var entry T
			if json.Unmarshal(line, &entry) == nil && !yield(entry) {
				return
			}
		}
	}
}

// findings holds the findings of an attempt's rule checks.
type findings struct {
	// Step is the step that checked, Missing why there is nothing to show.
	Step, Link, Missing string
	Rules               int
	Rows                []call
	Unread              []string
	found               *results.Check
}

// findingsOf reads the findings of the step that checks an attempt.
func findingsOf(ctx context.Context, a *shownAttempt) (f findings) {
	if a.checker == "" {
		f.Missing = "No rule checks were run on this attempt. A step of kind check does."
		return f
	}
	f.Step, f.Link = a.checker, stepAddress(a.run.ID, a.checker, "")
	if a.checked == nil || a.checked.Outputs["findings"] == "" {
		f.Missing = "The rule checks have not finished."
		return f
	}
	r, err := outputs.Read[check.Report](ctx, a.store, a.checked.Outputs["findings"])
	if err != nil {
		f.Missing = lost("report of the rule checks", err)
		return f
	}
	f.Rules, f.Unread = len(r.Rules), r.Unread
	f.found = &results.Check{Rules: r.Rules, Findings: r.Findings}
	for _, e := range r.Findings {
		where := e.Where() + view.When(e.Place != "", " ("+e.Place+")")
		f.Rows = append(f.Rows, call{Check: "rule", What: oneLine(e.Rule, 100), Verdict: oneLine(string(e.Severity), 20), Where: oneLine(where, 300),
			Excerpt: oneLine(e.Excerpt, 300), Note: oneLine(e.Explanation, 500), Class: view.When(e.Severity == evidence.Warning, "bad")})
	}
	return f
}
