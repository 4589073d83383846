package kit

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// maxLintTable is the size up to which a public table is read; a larger one is
// looked at by its name and size only.
const maxLintTable = 1 << 30

// mostTables is the number of files of a folder that are looked at as tables: more of them
// are the data of one row each.
const mostTables = 200

// dataFile is a prepared file, or a member of a public zip file.
type dataFile struct {
	// name is the path, for a member "archive.zip!member".
	name string
	size int64
	open func() (io.ReadCloser, error)
	// id is the content, if it is known without reading.
	id digest.ContentID
}

// publicTable is a public file that holds rows.
type publicTable struct {
	name string
	t    *table.Table
}

// publicData is the data that agents see.
type publicData struct {
	files  []dataFile
	tables []publicTable
	// large are the tables that were not read.
	large []string
}

// eachFile calls do with each file under a folder of the prepared data, in the
// order of their names.
func eachFile(data fs.FS, under string, do func(dataFile) error) error {
	return fs.WalkDir(data, under, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f := dataFile{name: name, size: info.Size(), open: func() (io.ReadCloser, error) { return data.Open(name) }}
		if e, ok := info.Sys().(tree.Entry); ok {
			f.id = e.Ref().ID
		}
		return do(f)
	})
}

// scanPublic lists the public files, in the order of their names, and reads
// the tables among them: CSV, TSV, and JSON lists of objects.
func scanPublic(folder fs.FS) (*publicData, error) {
	p := &publicData{}
	if err := eachFile(folder, "public", func(f dataFile) error {
		p.files = append(p.files, f)
		if path.Ext(f.name) == ".zip" {
			return p.members(f)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	read := map[string]int{}
	for _, f := range p.files {
		dir := path.Dir(f.name)
		if read[dir] >= mostTables {
			continue
		}
		before := len(p.tables)
		if err := p.addTable(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		read[dir] += len(p.tables) - before
	}
	return p, nil
}

// members lists a zip file's members. They stay readable as long as the
// archive's file is.
func (p *publicData) members(archive dataFile) error {
	f, err := archive.open()
	if err != nil {
		return err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return f.Close()
	}
	r, err := zip.NewReader(at, archive.size)
	if err != nil { // not a zip file, whatever its name says
		return f.Close()
	}
	for _, m := range r.File {
		if !m.FileInfo().IsDir() {
			p.files = append(p.files, dataFile{name: archive.name + "!" + m.Name, size: int64(m.UncompressedSize64), open: m.Open})
		}
	}
	return nil
}

func (p *publicData) addTable(f dataFile) error {
	ext := path.Ext(f.name)
	separator, rows := map[string]byte{".csv": ',', ".tsv": '\t'}[ext]
	if !rows && ext != ".json" {
		return nil
	}
	if f.size > maxLintTable {
		p.large = append(p.large, f.name)
		return nil
	}
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var t *table.Table
	if rows {
		t, err = table.ReadCSV(bytes.NewReader(data), table.ReadOptions{Comma: separator})
	} else {
		t, err = readRecords(data)
	}
	if err == nil && t != nil { // a file that is no table is skipped
		p.tables = append(p.tables, publicTable{f.name, t})
	}
	return nil
}

// readRecords reads a JSON list of objects as columns of texts; nil if the
// file is something else.
func readRecords(data []byte) (*table.Table, error) {
	var records []map[string]json.RawMessage
	if err := json.Unmarshal(data, &records); err != nil || len(records) == 0 {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(records[0]))
	cols := make([]*table.Column, len(names))
	for c, name := range names {
		texts, valid := make([]string, len(records)), make([]bool, len(records))
		for i, r := range records {
			texts[i], valid[i] = jsonText(r[name])
		}
		cols[c] = table.FromTexts(name, texts, valid)
	}
	return table.New(cols...)
}

// jsonText returns a JSON value as a cell says it; booleans as 0 and 1, as the
// answers made of them are.
func jsonText(raw json.RawMessage) (string, bool) {
	var text string
	switch s := string(raw); {
	case s == "" || s == "null":
		return "", false
	case s == "true":
		return "1", true
	case s == "false":
		return "0", true
	case json.Unmarshal(raw, &text) == nil:
		return text, true
	default:
		return s, true
	}
}

// sum returns the digest of a file's content.
func (f dataFile) sum() (digest.ContentID, error) {
	if f.id != (digest.ContentID{}) {
		return f.id, nil
	}
	r, err := f.open()
	if err != nil {
		return digest.ContentID{}, err
	}
	defer r.Close()
	w := digest.NewWriter()
	_, err = io.Copy(w, r)
	return w.ID(), err
}

// twins groups the files of equal content, leaving out empty ones. Only files
// that share their size are read.
func twins(files []dataFile) ([][]dataFile, error) {
	bySize := lists.By(files, func(f dataFile) int64 { return f.size })
	delete(bySize, 0)
	bySum := map[digest.ContentID][]dataFile{}
	for _, same := range bySize {
		if len(same) < 2 {
			continue
		}
		for _, f := range same {
			id, err := f.sum()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			bySum[id] = append(bySum[id], f)
		}
	}
	var out [][]dataFile
	for _, same := range bySum {
		if len(same) > 1 {
			slices.SortFunc(same, func(a, b dataFile) int { return strings.Compare(a.name, b.name) })
			out = append(out, same)
		}
	}
	slices.SortFunc(out, func(a, b []dataFile) int { return strings.Compare(a[0].name, b[0].name) })
	return out, nil
}
