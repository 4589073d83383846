package queue

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
)

// Now is the time as records have it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// NewID returns the ID of an entry that was asked for at a time. IDs sort by time.
func NewID(at time.Time) string {
	return at.Format("20060102T150405.000000Z") + "-" + strings.ToLower(rand.Text()[:8])
}

// Folder makes a folder of a queue, and refuses one that others may write to.
func Folder(at string) error {
	if err := nolink.MkdirAll(at, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(at)
	if err == nil && !info.IsDir() {
		err = nolink.ErrForeign
	}
	if err == nil && nolink.Writers(info) != "" {
		err = errors.New(nolink.Writers(info))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// Read decodes a file of JSON.
func Read(path string, into any) error {
	text, err := nolink.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Write replaces a file by a value in JSON. It survives a crash once Write has returned.
func Write(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return nolink.WriteFile(path, append(text, '\n'), 0o600, true)
}
