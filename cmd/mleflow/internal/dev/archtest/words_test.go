package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forbidden are phrases that the glossary replaces, with the usual ones. Only
// phrases that have no good use in this code are listed, so that the test needs
// no exceptions but those of wordsAllowed.
var forbidden = []struct {
	phrase *regexp.Regexp
	usual  string
}{
	{regexp.MustCompile(`(?i)\btruth values?\b`), "boolean"},
	{regexp.MustCompile(`(?i)\bwhole numbers?\b`), "integer"},
	{regexp.MustCompile(`(?i)\b(hangs?|hung) on\b`), "depends on"},
	{regexp.MustCompile(`(?i)\b(no|little|enough|makes?|more) room\b`), "space"},
	{regexp.MustCompile(`(?i)\banew\b`), "again, from scratch"},
	{regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`), "fix"},
	{regexp.MustCompile(`(?i)\bmay lack\b`), "may be missing"},
	{regexp.MustCompile(`(?i)\bown word\b`), "reports, says"},
	{regexp.MustCompile(`(?i)\btold rightly\b`), "predicted correctly"},
	{regexp.MustCompile(`(?i)\bof another kind\b`), "of a different type"},
	{regexp.MustCompile(`(?i)\bbeside the definition\b`), "next to the definition"},
}

// wordsAllowed are files that quote such phrases: those that forbid them, old
// entries of the logs, an attribute's old name, and texts of a library.
var wordsAllowed = []string{
	"CHANGELOG.md", "GLOSSARY.md", "cmd/mleflow/internal/dev/archtest/words_test.go",
	"competitions/decode.go", "competitions/competitions_test.go", "docs/language.md",
}

// TestWords searches our own Go and Markdown files for phrases that the glossary
// replaces.
func TestWords(t *testing.T) {
	const root = "../../../../.."
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || name == "bin" || name == "dist") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md") || slices.Contains(wordsAllowed, name) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for _, f := range forbidden {
			if at := f.phrase.FindIndex(data); at != nil {
				t.Errorf("%s:%d: %q; write: %s", name, 1+bytes.Count(data[:at[0]], []byte("\n")), data[at[0]:at[1]], f.usual)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 500 {
		t.Errorf("read only %d files", read)
	}
}
