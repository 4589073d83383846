package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/competitions"
)

// Layout is a data folder.
type Layout struct{ Dir string }

// At is the data folder for the data of a definition's version.
func (l Layout) At(def *competitions.Definition) Layout {
	if v := def.PinsVersion(); v != "v1" {
		return Layout{filepath.Join(l.Dir, v)}
	}
	return l
}

// Competition is a competition's folder.
func (l Layout) Competition(id string) string { return filepath.Join(l.Dir, id) }

// Raw is the path of a competition's unpacked download.
func (l Layout) Raw(id string) string { return filepath.Join(l.Dir, id, "raw") }

// Prepared is the path of a competition's public and private folders.
func (l Layout) Prepared(id string) string { return filepath.Join(l.Dir, id, "prepared") }

// filled reports whether a folder has something in it.
func filled(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", dir, err)
	}
	return len(entries) > 0, nil
}
