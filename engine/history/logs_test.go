package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readLog(t *testing.T, path string) string {
	t.Helper()
	r, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkLog checks that got is text, or its beginning and at least tail bytes
// of its end with a note of what is missing between them.
func checkLog(t *testing.T, got, text string, head, tail int) {
	t.Helper()
	if got == text {
		return
	}
	if len(text) <= head+tail {
		t.Fatalf("%d of %d bytes are kept although all could be", len(got), len(text))
	}
	before, rest, _ := strings.Cut(got, "\n[mleflow: ")
	var gone int
	if _, err := fmt.Sscanf(rest, "%d bytes are left out here]\n", &gone); err != nil {
		t.Fatalf("no note in %q: %v", got, err)
	}
	_, after, _ := strings.Cut(rest, "\n")
	if before != text[:head] || !strings.HasSuffix(text, after) || len(before)+gone+len(after) != len(text) {
		t.Fatalf("%d + %d + %d bytes are not the text of %d", len(before), gone, len(after), len(text))
	}
	if len(after) < tail || len(after) > 2*tail {
		t.Fatalf("%d bytes of the end are kept, want %d to %d", len(after), tail, 2*tail)
	}
}

// Logs of any length, in writes of any sizes, are kept as promised while they
// are written (which is what a killed process leaves) and when closed.
func TestLogSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	const head, tail = 50, 30
	for n := 0; n < 260; n += 3 {
		path := filepath.Join(dir, fmt.Sprint(n))
		l := newLog(path, head, tail, nil)
		var text strings.Builder
		for text.Len() < n {
			line := fmt.Sprintf("%d,%s", text.Len(), strings.Repeat("x", rnd.IntN(1+rnd.IntN(90))))
			line = line[:min(len(line), n-text.Len())]
			text.WriteString(line)
			if _, err := io.WriteString(l, line); err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(8) == 0 {
				checkLog(t, readLog(t, path), text.String(), head, tail)
			}
		}
		if n > 0 {
			checkLog(t, readLog(t, path), text.String(), head, tail)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			checkLog(t, readLog(t, path), text.String(), head, tail)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("parts are left: %v", left)
	}
}

// Joining may be cut off after each of its steps.
func TestLogJoinInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := newLog(path, 10, 10, nil)
	if _, err := io.WriteString(l, strings.Repeat("0123456789", 6)); err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, turn := range []int{0, 1} {
		b, err := os.ReadFile(tailPath(path, turn))
		if err != nil {
			t.Fatal(err)
		}
		parts[tailPath(path, turn)] = b
	}
	want := readLog(t, path)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range parts { // renamed, but the parts not yet removed
		write(t, name, text)
		if got := readLog(t, path); got != want {
			t.Errorf("with %s: %q, want %q", filepath.Base(name), got, want)
		}
	}
	write(t, tailPath(path, 0), []byte("12")) // torn while it was begun
	if got := readLog(t, path); got != want {
		t.Errorf("with a torn part: %q, want %q", got, want)
	}
}

func TestLogs(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{})
	const a = `step.exec.a["../x y/ü"]`
	for _, attempt := range []int{1, 3} {
		log := r.Log(a, attempt)
		fmt.Fprintf(log, "attempt %d\n", attempt)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
	silent := r.Log(a, 2)
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	p := find(t, l, "latest")
	if d := cmp.Diff([]int{1, 3}, p.Logs(a)); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
	rd, err := p.OpenLog(a, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	if b, err := io.ReadAll(rd); err != nil || !bytes.Equal(b, []byte("attempt 3\n")) {
		t.Errorf("log %q, %v", b, err)
	}
	if _, err := p.OpenLog(a, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("log of a silent attempt: %v", err)
	}
}

func TestLogName(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := map[string]string{
		"step.exec.a":               "step.exec.a.1.log",
		`step.exec.a["../x y/ü\n"]`: "step.exec.a%5b%22..%2fx%20y%2f%c3%bc%5cn%22%5d.1.log",
		".hidden":                   "%2ehidden.1.log",
		"":                          ".1.log",
	}
	for address, want := range tests {
		if got := logName(address, 1); got != want {
			t.Errorf("logName(%q) = %s, want %s", address, got, want)
		}
	}
	if a, b := logName(long+"a", 1), logName(long+"b", 1); a == b || len(a) > 255 {
		t.Errorf("long addresses: %s and %s", a, b)
	}
}
