package ui

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/url"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

const (
	// previewRows and previewColumns bound the preview of a submission, maxCell the
	// length of a cell, and maxPreview the bytes read of the file.
	previewRows, previewColumns = 20, 40
	maxCell                     = 120
	maxPreview                  = 256 << 10
	// previewFiles is the number of listed files.
	previewFiles = 50
)

// preview is the beginning of a submission.
type preview struct {
	// Columns are the columns with the types that their first values have.
	Columns       []page.Fact
	Rows          [][]string
	Wide          int
	Note, Missing string
	Size, Digest  string
	Others        []fileRow
}

// submission previews the agent's submission.
func submission(ctx context.Context, a *shownAttempt, _ url.Values) (d preview) {
	ref, missing := a.output("submission")
	if d.Missing = missing; missing != "" {
		return d
	}
	all, err := readFiles(ctx, a.store, ref)
	if err != nil {
		d.Missing = lost("submission", err)
		return d
	}
	for _, name := range all.names[:min(len(all.names), previewFiles)] {
		d.Others = append(d.Others, fileRow{Path: name, Size: view.Bytes(all.at[name].Size)})
	}
	e, err := tree.Find(ctx, a.store, ref, "submission.csv")
	if none(err) || err == nil && e.IsDir() {
		d.Missing = "The agent left no submission.csv."
		return d
	}
	if err != nil {
		d.Missing = lost("submission", err)
		return d
	}
	d.Size, d.Digest = view.Bytes(e.Size), e.ID.String()
	text, err := head(ctx, a.store, e.Ref(), maxPreview)
	switch {
	case err != nil:
		d.Missing = lost("submission", err)
	case binary(text):
		d.Missing = "The submission is not text."
	default:
		d.read(text, int64(len(text)) < e.Size)
	}
	return d
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
		d.Columns = append(d.Columns, page.Fact{Name: name, Value: typeOf(d.Rows, i)})
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
