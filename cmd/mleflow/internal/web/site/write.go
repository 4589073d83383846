package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
)

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
func (s *Site) Write(dir string) (err error) {
	files, err := s.Files()
	if err != nil {
		return err
	}
	if err := vacant(dir); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".board-*")
	if err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	fresh := filepath.Join(tmp, "new")
	for _, path := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(fresh, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return fmt.Errorf("write board: %w", err)
		}
		if err := os.WriteFile(to, files[path], 0o666); err != nil {
			return fmt.Errorf("write board: %w", err)
		}
	}
	old := filepath.Join(tmp, "old")
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write board: replace %s: %w", dir, err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		_ = os.Rename(old, dir)
		return fmt.Errorf("write board: %w", err)
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
		return fmt.Errorf("write board: %w", err)
	}
	for _, name := range []string{dataFile, "index.html"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("write board: %s: %w", dir, ErrOccupied)
		}
	}
	return nil
}
