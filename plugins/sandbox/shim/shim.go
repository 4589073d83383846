package shim

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

//go:embed python/bin/* python/mlebench/*.py python/mlebench/competitions/*.py python/mlebench/competitions/*.csv
var embedded embed.FS

// Competition is the package's information about the competition.
type Competition struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Type is "simple" or "code".
	Type   string `json:"type"`
	Metric string `json:"metric"`
	// Sample is the path of the sample submission below the data, or "".
	Sample        string `json:"sample"`
	LowerIsBetter bool   `json:"is_lower_better"`
}

// Task is the package's data in addition to its code.
type Task struct {
	Competition Competition `json:"competition"`
	// IDs are the IDs of all competitions.
	IDs []string `json:"ids"`
	// Sets maps the name of each set to its members.
	Sets map[string][]string `json:"-"`
}

// The folders below the root that Write fills.
const (
	// Python is the folder for PYTHONPATH: the root itself.
	Python = "."
	// Commands is the folder for PATH.
	Commands = "bin"
)

// files returns the files that Write writes, by path.
func (t Task) files() (map[string][]byte, error) {
	list := map[string][]byte{}
	err := fs.WalkDir(embedded, "python", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(path)
		list[strings.TrimPrefix(path, "python/")] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	if list["task.json"], err = json.Marshal(t); err != nil {
		return nil, err
	}
	for name, ids := range t.Sets {
		list["experiments/splits/"+name+".txt"] = []byte(strings.Join(ids, "\n") + "\n")
	}
	return list, nil
}

// Write writes the package, the command and the task to the new folder dir.
func (t Task) Write(dir string) error {
	files, err := t.files()
	if err != nil {
		return fmt.Errorf("write shim: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, mode := filepath.Join(dir, name), fs.FileMode(0o644)
		if strings.HasPrefix(name, Commands+"/") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write shim: %w", err)
		}
		if err := os.WriteFile(path, files[name], mode); err != nil {
			return fmt.Errorf("write shim: %w", err)
		}
	}
	return nil
}

// Digest identifies the files that Write writes.
func (t Task) Digest() (digest.ContentID, error) {
	files, err := t.files()
	if err != nil {
		return digest.ContentID{}, err
	}
	text, err := json.Marshal(files) // keys are sorted
	return digest.Of(text), err
}
