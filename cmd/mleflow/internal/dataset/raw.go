package dataset

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/archive"
	"github.com/mleflow/mleflow/plugins/source"
)

// raw returns the folder with the unpacked download: the given one, the
// layout's if it holds something, else the layout's after filling it.
func (j Job) raw(ctx context.Context) (string, error) {
	if j.Raw != "" {
		if has, err := filled(j.Raw); err != nil {
			return "", err
		} else if !has {
			return "", fmt.Errorf("the raw folder %s is empty or missing", j.Raw)
		}
		return j.Raw, nil
	}
	raw := j.Layout.Raw(j.Def.ID)
	if has, err := filled(raw); err != nil || has {
		return raw, err
	}
	return raw, j.fill(ctx, raw)
}

// fill makes the raw folder from the competition's sources, whole or not at
// all.
func (j Job) fill(ctx context.Context, raw string) (err error) {
	if err := os.MkdirAll(filepath.Dir(raw), 0o777); err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(raw), ".raw-*")
	if err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	for _, s := range j.Def.Sources {
		if s.Kind != "file" {
			return missingDownload(s, j.Layout.Dir, j.Def.ID)
		}
		if err := j.unpack(ctx, s, tmp); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	if err := os.RemoveAll(raw); err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	if err := os.Rename(tmp, raw); err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	return nil
}

// unpack checks a source that ships with the competition and unpacks it, or
// copies it where the source names a file.
func (j Job) unpack(ctx context.Context, s competitions.Source, folder string) error {
	data, err := fs.ReadFile(j.Def.Folder(), s.Path)
	if err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	sum, old := sha256.Sum256(data), md5.Sum(data)
	if !pinned(s.SHA256, sum[:]) || !pinned(s.MD5, old[:]) {
		return step.Mismatch(fmt.Errorf("source %s is not what its pin says", s.Path))
	}
	if s.As != "" {
		path := filepath.Join(folder, filepath.FromSlash(s.As))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("copy source: %w", err)
		}
		return os.WriteFile(path, data, 0o666)
	}
	src := archive.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	return archive.Unpack(ctx, src, archive.FormatOf(s.Path), archive.DefaultLimits(), folder)
}

// pinned compares a sum with its pin, which may be empty.
func pinned(pin string, sum []byte) bool { return pin == "" || pin == hex.EncodeToString(sum) }

func missingDownload(s competitions.Source, dir, id string) error {
	where := source.Redact(s.URL)
	if s.Kind == "kaggle" {
		where = "https://www.kaggle.com/competitions/" + s.Slug
	}
	return fmt.Errorf("no raw data; download it from %s, unpack it once, and name the folder with --raw, or put it at %s",
		where, filepath.Join(dir, id, "raw"))
}
