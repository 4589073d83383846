package service_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// TestJournal writes a journal in three processes, the second of which was
// killed within a line.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	mask := func(line []byte) []byte { return bytes.ReplaceAll(line, []byte("s3cr3t"), []byte("***")) }
	write := func(limit int64, entries ...string) *service.Journal {
		j, err := service.OpenJournal(path, limit, mask)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			j.Add(e)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return j
	}
	write(1000, "one", "two s3cr3t")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`"cut`)
	_ = f.Close()
	j := write(40, "three", strings.Repeat("long", 20), "4")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\"one\"\n\"two ***\"\n\"cut\n\"three\"\n\"4\"\n"; string(data) != want {
		t.Errorf("got %q, want %q", data, want)
	}
	if j.Lines() != 6 {
		t.Errorf("%d lines, want 6: one that did not fit counts", j.Lines())
	}
}
