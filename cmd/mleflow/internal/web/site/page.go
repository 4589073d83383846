package site

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
)

//go:embed pages.html
var pagesText string

var pages = sync.OnceValue(func() *template.Template {
	return page.Parse("board", pagesText, map[string]any{"letter": letter, "disclosed": disclosedGrid, "evaluation": view.Evaluation})
})

// document is a page: a template with its data, or findings and sections.
type document struct {
	Title, Version string
	Template       string
	Data           any
	Lead           []string
	Findings       []Finding
	Sections       []section
}

// section is a part of a page; empty parts are not shown.
type section struct {
	Title string
	Text  view.Parts
	Grids []page.Grid
	Plots []plot
}

// plot is a drawing; with People, it has a legend of medal lines, with Names one of lines.
type plot struct {
	Title, Note string
	Plot        template.HTML
	People      *page.AmongPeople
	// Names are the names of the lines, in the order of their colors.
	Names []string
}

// cell is a value of a table. A link must be made by this package, or checked.
type cell = page.Cell

// texts returns a column of strings; the name of a column of numbers begins with ">".
func texts[R any](name string, of func(R) string) page.Column[R] {
	c := page.Column[R]{Title: name, Text: of}
	if title, number := strings.CutPrefix(name, ">"); number {
		c.Title, c.Kind = title, page.Figures
	}
	return c
}

// links returns a column of names that lead to other pages of the board.
func links[R any](name string, of func(R) (text, address string)) page.Column[R] {
	return page.Column[R]{Title: name, Class: "name", Of: func(r R) (c cell) { c.Text, c.Link = of(r); return }}
}

// cells returns a column of cells.
func cells[R any](name string, of func(R) cell) page.Column[R] {
	return page.Column[R]{Title: name, Of: of}
}

// indexed returns a column of a table whose rows are lists of strings.
func indexed(name string, i int) page.Column[[]string] {
	return texts(name, func(row []string) string { return row[i] })
}

// pill is a cell in a colour.
func pill(text, class string) cell { return cell{Text: text, Class: class, Pill: class != ""} }

// outside is a link to another site.
func outside(text, address string) cell { return cell{Text: text, Link: address, Outside: true} }

// write writes a page. Up is the path from it to the folder of the board.
func (d document) write(up string) ([]byte, error) {
	t, data := pages(), any(d)
	if d.Template != "" {
		t, data = t.Lookup(d.Template), d.Data
	}
	body, err := page.Fill(t, data)
	if err != nil {
		return nil, fmt.Errorf("fill page: %w", err)
	}
	var out bytes.Buffer
	frame := page.Frame{
		Title: d.Title, Version: d.Version, Policy: page.FilePolicy(), Body: body, Wide: true,
		Nav: []page.Link{{Text: "Board", Address: up + "index.html", Here: up == ""}, {Text: "Competitions", Address: up + "index.html#competitions"}, {Text: "Bundles", Address: up + "index.html#bundles"}},
	}
	err = frame.Write(&out)
	return out.Bytes(), err
}

// slug returns a file name for a foreign name: letters that are safe in every file system
// and address, and a part of the digest that is long enough against collisions.
func slug(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(name))
	return strings.Trim(safe[:min(len(safe), 40)], "-") + "-" + hex.EncodeToString(sum[:8])
}

func agentPath(name string) string     { return "agents/" + slug(name) + ".html" }
func competitionPath(id string) string { return "competitions/" + slug(id) + ".html" }
func bundlePath(b *Bundle) string      { return "bundles/" + b.Manifest[:16] + ".html" }
func points(v float64) string          { return fmt.Sprintf("%+.2f", v) }

// dataFile is the board as JSON. A folder that has it is a board that may be
// replaced.
const dataFile = "board.json"

// ErrOccupied means that a folder holds something other than a board.
var ErrOccupied = errors.New("it is not empty and not a board")

// Files are the files of the board by path.
func (s *Site) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	add := func(path, up string, d document) error {
		text, err := d.write(up)
		files[path] = text
		return err
	}
	err := add("index.html", "", s.index())
	for _, name := range s.AgentNames() {
		err = errors.Join(err, add(agentPath(name), "../", s.agentPage(name)))
	}
	for _, c := range s.competitions() {
		err = errors.Join(err, add(competitionPath(c.id), "../", s.competitionPage(c)))
	}
	for _, b := range s.Bundles {
		if b.Refused == "" {
			err = errors.Join(err, add(bundlePath(b), "../", s.bundlePage(b)))
		}
	}
	if err != nil {
		return nil, err
	}
	if files[dataFile], err = json.MarshalIndent(s, "", "  "); err != nil {
		return nil, fmt.Errorf("encode board: %w", err)
	}
	files[dataFile] = append(files[dataFile], '\n')
	return files, s.tables(files)
}

// tables adds the rows that count as tables for notebooks.
func (s *Site) tables(files map[string][]byte) error {
	records := counting(s.rows)
	attempts.Sort(records)
	attempts := func(records []*results.Attempt) (*table.Table, error) { return export.Attempts(records, s.stops...) }
	for name, build := range map[string]func([]*results.Attempt) (*table.Table, error){"attempts": attempts, "snapshots": export.Snapshots} {
		t, err := build(records)
		if err != nil {
			return err
		}
		for _, f := range []export.Format{export.CSV, export.Parquet} {
			var out bytes.Buffer
			if err := export.Write(&out, t, f); err != nil {
				return err
			}
			files[name+"."+string(f)] = out.Bytes()
		}
	}
	return nil
}

// Write writes the board to a folder, all of it or nothing. An older board is replaced;
// anything else there is ErrOccupied.
func (s *Site) Write(dir string) error {
	files, err := s.Files()
	if err != nil {
		return err
	}
	if err = vacant(dir); err == nil {
		err = replace(filepath.Clean(dir), files)
	}
	if err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	return nil
}

// replace writes files to a folder in place of what is there.
func replace(dir string, files map[string][]byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".board-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	fresh := filepath.Join(tmp, "new")
	for _, path := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(fresh, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(to, files[path], 0o666); err != nil {
			return err
		}
	}
	old := filepath.Join(tmp, "old")
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", dir, err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		_ = os.Rename(old, dir)
		return err
	}
	return nil
}

// vacant checks that a folder may be replaced.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return err
	}
	for _, name := range []string{dataFile, "index.html"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s: %w", dir, ErrOccupied)
		}
	}
	return nil
}
