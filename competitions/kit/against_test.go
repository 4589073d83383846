package kit

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSameFiles compares folders that differ in one way each.
func TestSameFiles(t *testing.T) {
	packed := func(text string, modified time.Time) func(string) error {
		return func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			defer f.Close()
			z := zip.NewWriter(f)
			w, err := z.CreateHeader(&zip.FileHeader{Name: "a.txt", Modified: modified})
			if err == nil {
				_, err = w.Write([]byte(text))
			}
			return errors.Join(err, z.Close())
		}
	}
	plain := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	day := time.Date(2020, 1, 2, 3, 4, 6, 0, time.UTC)
	for name, c := range map[string]struct {
		want, got map[string]func(string) error
		details   []string
	}{
		"equal":        {map[string]func(string) error{"a.csv": plain("a\n1\n")}, map[string]func(string) error{"a.csv": plain("a\n1\n")}, nil},
		"a cell":       {map[string]func(string) error{"a.csv": plain("a\n1\n2\n")}, map[string]func(string) error{"a.csv": plain("a\n1\n3\n")}, []string{"a.csv: ", "2"}},
		"a spelling":   {map[string]func(string) error{"a.csv": plain("a\n1.0\n")}, map[string]func(string) error{"a.csv": plain("a\n1\n")}, []string{"a.csv: "}},
		"missing":      {map[string]func(string) error{"a.csv": plain("a\n")}, nil, []string{"a.csv: the block prepare does not write it"}},
		"extra":        {nil, map[string]func(string) error{"b.csv": plain("a\n")}, []string{"b.csv: Python does not write it"}},
		"times in zip": {map[string]func(string) error{"a.zip": packed("x", day)}, map[string]func(string) error{"a.zip": packed("x", day.AddDate(1, 0, 0))}, nil},
		"a member":     {map[string]func(string) error{"a.zip": packed("x", day)}, map[string]func(string) error{"a.zip": packed("y", day)}, []string{`its part "a.txt" differs`}},
	} {
		t.Run(name, func(t *testing.T) {
			dirs := []string{t.TempDir(), t.TempDir()}
			for i, files := range []map[string]func(string) error{c.want, c.got} {
				for name, write := range files {
					if err := write(filepath.Join(dirs[i], name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			checks, err := sameFiles(t.Context(), dirs[0], dirs[1])
			if err != nil || len(checks) != 1 {
				t.Fatalf("got %+v, %v", checks, err)
			}
			if (checks[0].Verdict == Passed) != (c.details == nil) {
				t.Errorf("got %+v", checks[0])
			}
			for _, want := range c.details {
				if !strings.Contains(checks[0].Detail, want) {
					t.Errorf("got %q, want %q in it", checks[0].Detail, want)
				}
			}
		})
	}
}
