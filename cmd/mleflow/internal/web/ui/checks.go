package ui

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
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

// calls adds an output of JSON lines to a list of checks. A function turns each line into
// a call. It returns why there is none, or that not all are shown.
func calls[T any](o *one, list *[]call, name, check, empty string, read func(T) call) string {
	text, why := o.blob(name, maxJournal)
	n := 0
	for line := range bytes.Lines(text) {
		var entry T
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
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

// validation is an entry of the log of the validity server.
type validation struct {
	Time   time.Time `json:"time"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"`
	Valid  bool      `json:"valid"`
	Class  string    `json:"class"`
	Reason string    `json:"reason"`
	Error  string    `json:"error"`
}

// connection is an entry of the log of the proxy.
type connection struct {
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	Method  string    `json:"method"`
	Host    string    `json:"host"`
	Port    uint16    `json:"port"`
	Address string    `json:"address"`
	Verdict string    `json:"verdict"`
	Reason  string    `json:"reason"`
	Up      int64     `json:"bytes_up"`
	Down    int64     `json:"bytes_down"`
}

// checks lists the agent's requests to servers, its calls that were refused and what rules
// found.
func (o *one) checks() error {
	t := &table{Noun: "check", Empty: "Nothing was checked.", Path: "/step/" + url.PathEscape(o.sum.ID), Keep: []string{"address", "tab"}, Placeholder: "host, rule, file, note", Facets: []string{"check", "verdict"}}
	var list []call
	d := struct {
		Missing  []string
		Findings findings
	}{Findings: o.findings()}
	d.Missing = append(d.Missing, calls(o, &list, "validation_log", "validity call", "The agent never asked the validity server.", validation.call),
		calls(o, &list, "network_log", "connection", "No connection went through the proxy.", connection.call),
		calls(o, &list, "shim_log", "refused call", "No call of mlebench was refused.", func(r shim.Record) call {
			return call{Time: r.Time, What: r.Call, Verdict: string(r.Kind), Class: "bad", Where: fmt.Sprintf("%s:%d", r.File, r.Line)}
		}))
	d.Missing = slices.DeleteFunc(d.Missing, func(why string) bool { return why == "" })
	fillTable(t, checkColumns, append(list, d.Findings.Rows...), func(call) line { return line{} })
	if err := t.add(o.c, o.r); err != nil {
		return err
	}
	return o.c.add("checks", "checks", d)
}

func (v validation) call() call {
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

func (n connection) call() call {
	c := call{Time: n.Time, What: strings.TrimSpace(n.Method + " " + n.Host + ":" + strconv.Itoa(int(n.Port))), Verdict: n.Verdict,
		Note: strings.TrimSpace(n.Reason + fmt.Sprintf(" %s up, %s down, %s", view.Bytes(n.Up), view.Bytes(n.Down), view.Duration(seconds(n.Seconds))))}
	if n.Reason != "" {
		c.Class = "bad"
	}
	return c
}

const (
	// previewRows and previewColumns bound the preview of a submission, maxCell the
	// length of a cell, and maxPreview the bytes read of the file.
	previewRows, previewColumns = 20, 40
	maxCell                     = 120
	maxPreview                  = 256 << 10
)

// preview is the beginning of a submission.
type preview struct {
	Columns       []column
	Rows          [][]string
	Wide          int
	Note, Missing string
	Size, Digest  string
	Others        []fileRow
}

// column is a column of a preview, with the type that its first values have.
type column struct{ Name, Type string }

// submission previews the agent's submission.
func (o *one) submission() error {
	var d preview
	ref, why := o.output("submission")
	if d.Missing = why; why == "" {
		o.preview(ref, &d)
	}
	return o.c.add("submission", "submission", d)
}

func (o *one) preview(ref cache.Ref, d *preview) {
	if err := walk(o.ctx, o.store, ref, "", func(name string, e tree.Entry) error {
		if len(d.Others) < 50 {
			d.Others = append(d.Others, fileRow{Path: name, Size: view.Bytes(e.Size)})
		}
		return nil
	}); err != nil {
		d.Missing = lost("submission", err)
		return
	}
	e, err := tree.Find(o.ctx, o.store, ref, "submission.csv")
	if none(err) || err == nil && e.IsDir() {
		d.Missing = "The agent left no submission.csv."
		return
	}
	if err != nil {
		d.Missing = lost("submission", err)
		return
	}
	d.Size, d.Digest = view.Bytes(e.Size), e.ID.String()
	text, err := head(o.ctx, o.store, e.Ref(), maxPreview)
	if err != nil {
		d.Missing = lost("submission", err)
		return
	}
	if binary(text) {
		d.Missing = "The submission is not text."
		return
	}
	d.read(text, int64(len(text)) < e.Size)
}

// read takes the first rows of a table in CSV.
func (d *preview) read(text []byte, more bool) {
	r := csv.NewReader(bytes.NewReader(text))
	r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = true, -1, false
	names, err := r.Read()
	if err != nil {
		d.Missing = "The submission has no rows that can be read as CSV."
		return
	}
	d.Wide = max(0, len(names)-previewColumns)
	names = cut(names)
	for len(d.Rows) < previewRows {
		row, err := r.Read()
		if err != nil {
			break
		}
		d.Rows = append(d.Rows, cut(row))
	}
	for i, name := range names {
		d.Columns = append(d.Columns, column{name, typeOf(d.Rows, i)})
	}
	if d.Note = "All rows."; more || len(d.Rows) == previewRows {
		d.Note = "The first " + view.Plural(len(d.Rows), "row") + "."
	}
}

func cut(row []string) []string {
	row = row[:min(len(row), previewColumns)]
	for i, cell := range row {
		if runes := []rune(strings.ToValidUTF8(cell, "\ufffd")); len(runes) > maxCell {
			row[i] = string(runes[:maxCell]) + "…"
		} else {
			row[i] = string(runes)
		}
	}
	return row
}

// typeOf is the narrowest type that all values of a column have.
func typeOf(rows [][]string, i int) string {
	kind := ""
	for _, row := range rows {
		if i >= len(row) || row[i] == "" {
			continue
		}
		_, whole := strconv.ParseInt(row[i], 10, 64)
		_, number := strconv.ParseFloat(row[i], 64)
		switch {
		case whole == nil && (kind == "" || kind == "integer"):
			kind = "integer"
		case number == nil && kind != "string":
			kind = "number"
		default:
			kind = "string"
		}
	}
	if kind == "" {
		return "empty"
	}
	return kind
}
