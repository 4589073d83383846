package transform

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAgain changes a file, or not, between two readings.
func TestAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"the same":  {func(string) error { return nil }, ""},
		"shorter":   {func(path string) error { return os.Truncate(path, 5) }, "read data.csv again"},
		"longer":    {func(path string) error { return os.Truncate(path, 50) }, "data.csv has changed while it was read"},
		"rewritten": {func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(5, 0)) }, "data.csv has changed while it was read"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data.csv")
			if err := os.WriteFile(path, make([]byte, 20), 0o644); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if small := newRereadFile(f); small != nil {
				t.Error("a small file is read again")
			}
			was, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			a := &rereadFile{File: f, at: f, was: was}
			if err := tt.change(path); err != nil {
				t.Fatal(err)
			}
			if _, err := a.ReadAt(make([]byte, 10), 0); (err != nil) != (name == "shorter") || err != nil && err != io.EOF {
				t.Error(err)
			}
			switch err := a.Close(); {
			case err == nil && tt.want != "", err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
