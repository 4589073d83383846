package history

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
)

// TestWatch reads a journal that is many times as long as any buffer: every event comes
// once, in order.
func TestWatch(t *testing.T) {
	l := New(t.TempDir())
	r, err := l.Begin(Opening{Info: Info{Pipeline: "p.hcl"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	past, err := l.Open(r.ID())
	if err != nil {
		t.Fatal(err)
	}
	watch, n, at := past.Watch(), 2*decodedAtOnce+512+1, 0
	for i := range n {
		r.Emit(event.StepStarted{Address: fmt.Sprintf("step.exec.s[%d]", i)})
		if i%(n/2) != n/2-1 && i < n-1 {
			continue
		}
		events, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if s, ok := e.(event.StepStarted); ok && s.Address != fmt.Sprintf("step.exec.s[%d]", at) {
				t.Fatalf("event %d is %q", at, s.Address)
			} else if ok {
				at++
			}
		}
	}
	if at != n {
		t.Errorf("%d of %d events", at, n)
	}
}

// TestFollow follows logs of every size that are written in pieces, looking at
// different times: what is passed on is what the log holds in the end, or all of
// it where the reader is fast enough.
func TestFollow(t *testing.T) {
	for _, every := range []int{1, 2, 3, 7, 1000} {
		for lines := range 40 {
			path := filepath.Join(t.TempDir(), "x.log")
			log, follow := newLog(path, 100, 100, nil), &Follow{path: path, head: 100}
			var all, got bytes.Buffer
			copy := func() {
				if err := follow.Copy(&got); err != nil {
					t.Fatal(err)
				}
			}
			copy() // it is not there yet
			for i := range lines {
				text := fmt.Sprintf("line %d of many\n", i)
				all.WriteString(text)
				if _, err := log.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if i%every == 0 {
					copy()
				}
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			copy()
			copy() // nothing comes twice
			if every <= 3 && got.String() != all.String() {
				t.Fatalf("%d lines, looked at every %d: got\n%s", lines, every, got.String())
			}
			// Nothing is told twice or in another order, and the gaps are true.
			rest, missing := all.String(), int64(0)
			for _, piece := range strings.SplitAfter(strings.ReplaceAll(got.String(), "\n[mleflow: ", "\x00"), "\x00") {
				if size, after, ok := strings.Cut(piece, " bytes are left out here]\n"); ok {
					if _, err := fmt.Sscan(size, &missing); err != nil {
						t.Fatal(err)
					}
					rest, piece = rest[missing:], after
				}
				piece = strings.TrimSuffix(piece, "\x00")
				if !strings.HasPrefix(rest, piece) {
					t.Fatalf("%d lines, looked at every %d: %q is not the beginning of %q", lines, every, piece, rest)
				}
				rest = rest[len(piece):]
			}
			if rest != "" {
				t.Fatalf("%d lines, looked at every %d: %q is missing", lines, every, rest)
			}
		}
	}
}
