package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
)

// record is the record of one path.
type record struct {
	Path    string `json:"path"`
	Private bool   `json:"private,omitempty"`
	Link    bool   `json:"link,omitempty"`
	// Written are the digests that the path may have: the latest one and,
	// during the move, the previous one.
	Written []string `json:"written"`
}

func (p *Places) file(path string) string {
	return filepath.Join(p.dir, digest.Of([]byte(path)).String()+".json")
}

// read returns the record of a path, or an empty one if nothing was published
// there.
func (p *Places) read(path string) (rec record, err error) {
	text, err := nolink.ReadFile(p.file(path))
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil {
		return rec, fmt.Errorf("read what was published to %s: %w", path, err)
	}
	return rec, nil
}

// save replaces the record of a path.
func (p *Places) save(rec record) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := nolink.WriteFile(p.file(rec.Path), append(text, '\n'), 0o644, !p.unsynced); err != nil {
		return fmt.Errorf("record what is published to %s: %w", rec.Path, err)
	}
	return nil
}

// lock excludes other processes from publishing to a path at the same time.
func (p *Places) lock(ctx context.Context, path string) (unlock func(), err error) {
	err = nolink.MkdirAll(p.dir, 0o777)
	var f *os.File
	if err == nil {
		f, err = nolink.OpenFile(strings.TrimSuffix(p.file(path), ".json")+".lock", os.O_CREATE|os.O_RDWR, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s for publishing: %w", path, err)
	}
	for {
		free, err := flock.Try(f)
		if err == nil && free {
			return func() { f.Close() }, nil
		}
		if err == nil {
			if err = progress.Sleep(ctx, 50*time.Millisecond); err == nil {
				continue
			}
		}
		f.Close()
		return nil, fmt.Errorf("lock %s for publishing: %w", path, err)
	}
}

// Private lists the paths to which private content was published.
func (p *Places) Private() []string {
	list, err := filepath.Glob(filepath.Join(p.dir, "*.json"))
	if err != nil {
		return nil
	}
	var paths []string
	for _, file := range list {
		var rec record
		if text, err := nolink.ReadFile(file); err == nil && json.Unmarshal(text, &rec) == nil && rec.Private {
			paths = append(paths, rec.Path)
		}
	}
	return paths
}
