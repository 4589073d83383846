package dataset

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Mismatch is a file that is not what its pin says.
type Mismatch struct {
	// Path is relative to the prepared folder.
	Path string `json:"path"`
	Want string `json:"want"`
	// Got is empty when the file is missing.
	Got string `json:"got,omitempty"`
}

// String says what is wrong in one line.
func (m Mismatch) String() string {
	if m.Got == "" {
		return m.Path + ": missing"
	}
	return fmt.Sprintf("%s: MD5 %s, pinned %s", m.Path, m.Got, m.Want)
}

// verifyPins compares files with their MD5 pins, in the order of their paths.
func verifyPins(ctx context.Context, dir string, pins map[string]string) ([]Mismatch, error) {
	var bad []Mismatch
	for _, path := range slices.Sorted(maps.Keys(pins)) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("verify %s: %w", dir, err)
		}
		got, err := fileMD5(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("verify %s: %w", path, err)
		}
		if got != pins[path] {
			bad = append(bad, Mismatch{Path: path, Want: pins[path], Got: got})
		}
	}
	return bad, nil
}

// fileMD5 returns the sum that the reference pins files with; it guards
// against differences, not against forgery.
func fileMD5(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
