package harbor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/competitions"
)

// stage is a task folder that was written aside, and its place.
type stage struct{ dir, to string }

// free refuses a place that has something other than a task of ours, which an export
// replaces.
func (w *Writer) free(to string) error {
	for _, s := range w.staged {
		if s.to == to {
			return mistakef("%s is to be written twice; name each competition once", to)
		}
	}
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !ours(to) {
		return mistakef("%s already exists and is no task that mleflow wrote; move it away, or write elsewhere", to)
	}
	return nil
}

// ours reports whether a folder is the task that its name says.
func ours(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "task.toml"))
	info, statErr := os.Lstat(dir)
	return err == nil && statErr == nil && info.IsDir() &&
		bytes.Contains(text, fmt.Appendf(nil, "\nname = %q\n", "mleflow/"+filepath.Base(dir)))
}

// Commit puts the staged tasks into their places, and takes back those it moved if one
// cannot be.
func (w *Writer) Commit() (err error) {
	defer func() { err = errors.Join(err, w.Discard()) }()
	for i, s := range w.staged {
		old := s.dir + "-old"
		if err = os.Rename(s.to, old); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil {
			err = os.Rename(s.dir, s.to)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write task: %w", err), restore(w.staged[:i+1]))
		}
	}
	if err = w.index(); err != nil {
		return errors.Join(fmt.Errorf("write dataset: %w", err), restore(w.staged))
	}
	return nil
}

// restore moves tasks aside again and the old ones back.
func restore(moved []stage) (err error) {
	for _, s := range moved {
		if _, missing := os.Lstat(s.dir); missing != nil {
			err = errors.Join(err, os.Rename(s.to, s.dir))
		}
		if _, missing := os.Lstat(s.dir + "-old"); missing == nil {
			err = errors.Join(err, os.Rename(s.dir+"-old", s.to))
		}
	}
	return err
}

// Discard removes tasks written aside and the old ones of tasks in their places.
func (w *Writer) Discard() (err error) {
	for _, s := range w.staged {
		err = errors.Join(err, os.RemoveAll(s.dir), os.RemoveAll(s.dir+"-old"))
	}
	w.staged = nil
	return err
}

// task names the text of the instruction.
func (w *Writer) task() competitions.Task {
	if w.Describe == nil {
		return competitions.TaskOwn
	}
	return competitions.TaskReference
}

func (w *Writer) describe(ctx context.Context, def *competitions.Definition) ([]byte, error) {
	if w.Describe == nil {
		return def.OwnDescription(), nil
	}
	if def.Rehearsal {
		return nil, mistakef("the reference has no text for the synthetic data of a rehearsal of %s; use --task own", def.ID)
	}
	text, err := w.Describe(ctx, def)
	if err == nil && text == nil {
		err = mistakef("the reference has no text of %s; use --task own", def.ID)
	}
	return text, err
}

// index writes registry.json, which names all tasks of ours in the folder. Paths are
// relative to it, so that it can be moved.
func (w *Writer) index() error {
	type entry struct {
		Name string `json:"name"`
		Path string `json:"path"`
	}
	folders, err := os.ReadDir(w.Dir)
	if err != nil {
		return err
	}
	tasks := []entry{}
	for _, f := range folders {
		if ours(filepath.Join(w.Dir, f.Name())) {
			tasks = append(tasks, entry{"mleflow/" + f.Name(), f.Name()})
		}
	}
	text, err := json.MarshalIndent([]any{map[string]any{
		"name": "mleflow", "version": "1.0", "description": "Competitions that mleflow prepared.", "tasks": tasks,
	}}, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Replace(filepath.Join(w.Dir, "registry.json"), wholefile.Bytes(append(text, '\n')))
}
