package kit

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// AgentFile is a file that agents get, or the files of a folder with many.
type AgentFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Files is the number of files, for a folder of which all but the first and the last
	// are left out.
	Files int `json:"files,omitempty"`
	// Rows, Columns, Head and Tail are those of a table.
	Rows    int      `json:"rows,omitempty"`
	Columns []string `json:"columns,omitempty"`
	Head    []string `json:"head,omitempty"`
	Tail    []string `json:"tail,omitempty"`
}

// The rows of a table, and the files of a folder, that are shown.
const (
	headRows    = 3
	tailRows    = 2
	mostInside  = 12
	mostRowText = 4096
)

// AgentFiles lists what agents get of prepared data, in the order of names. A table has its
// first and last rows as CSV; one of more than a gigabyte, or that cannot be read, its size.
func AgentFiles(prepared string) ([]AgentFile, error) {
	var all []AgentFile
	folder := os.DirFS(prepared)
	err := eachFile(folder, "public", func(f dataFile) error {
		all = append(all, AgentFile{Path: f.name, Bytes: f.size})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list what agents get: %w", err)
	}
	var out []AgentFile
	for _, files := range lists.Grouped(all, func(f AgentFile) string { return path.Dir(f.Path) }) {
		if n := len(files); n > mostInside {
			many := AgentFile{Path: path.Dir(files[0].Path) + "/", Files: n, Head: names(files[:headRows]), Tail: names(files[n-tailRows:])}
			for _, f := range files {
				many.Bytes += f.Bytes
			}
			out = append(out, many)
			continue
		}
		out = append(out, files...)
	}
	for i := range out {
		if f := &out[i]; path.Ext(f.Path) == ".csv" && f.Bytes <= maxLintTable {
			if t, err := readTable(folder, f.Path); err == nil {
				f.Rows, f.Columns, f.Head, f.Tail = t.Len(), t.Names(), linesOf(t, 0, headRows), linesOf(t, max(headRows, t.Len()-tailRows), t.Len())
			}
		}
	}
	return out, nil
}

func names(files []AgentFile) []string {
	return lists.Of(files, func(f AgentFile) string { return path.Base(f.Path) })
}

// linesOf returns rows as CSV, each cut after mostRowText bytes.
func linesOf(t *table.Table, lo, hi int) []string {
	return table.Collect(max(0, min(hi, t.Len())-lo), func(i int) string {
		var b bytes.Buffer
		if err := table.WriteCSV(&b, t.Slice(lo+i, lo+i+1), table.WriteOptions{NoHeader: true}); err != nil {
			return ""
		}
		line := strings.TrimSuffix(b.String(), "\n")
		return strings.ToValidUTF8(line[:min(len(line), mostRowText)], "")
	})
}
