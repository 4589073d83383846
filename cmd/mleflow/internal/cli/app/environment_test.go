package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
)

// TestBinaryDigest is that of the running program, remembered until the program
// changes.
func TestBinaryDigest(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	settled(f)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	memo, want := filepath.Join(t.TempDir(), "program"), digest.Of(text).String()
	check := func(when, want string) {
		t.Helper()
		if got := BinaryDigest(memo); got != want {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(memo, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check("without a memo", want)
	known, err := os.ReadFile(memo)
	if err != nil || !strings.HasSuffix(string(known), " "+want) {
		t.Fatalf("the memo is %q, %v", known, err)
	}
	other := digest.Of(nil).String()
	write(strings.Replace(string(known), want, other, 1))
	check("as remembered", other)
	write("1" + string(known))
	check("of another binary", want)
	write(string(known[:len(known)-1]))
	check("cut short", want)
}

// TestBinaryStamp differs after a change.
func TestBinaryStamp(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "program"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := settled(f)
	if err := f.Chmod(0o700); err != nil {
		t.Fatal(err)
	}
	if stamp := binaryStamp(f); stamp == old {
		t.Errorf("a changed file still has the stamp %q", stamp)
	}
}

// settled waits until a file has a stamp.
func settled(f *os.File) (stamp string) {
	for stamp == "" {
		time.Sleep(20 * time.Millisecond) // a file that changed a moment ago has none
		stamp = binaryStamp(f)
	}
	return stamp
}
