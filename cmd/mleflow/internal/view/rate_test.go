package view

import (
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

func TestRateText(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	report := func(seconds int, what string, done, total int64, unit string, bytes int64) event.StepProgress {
		return event.StepProgress{At: event.At{Time: began.Add(time.Duration(seconds) * time.Second)}, Progress: step.Progress{What: what, Done: done, Total: total, Unit: unit, Bytes: bytes}}
	}
	for _, tt := range []struct {
		name    string
		reports []event.StepProgress
		want    string
	}{
		{"download", []event.StepProgress{report(0, "fetching", 0, 100<<20, "bytes", 0), report(5, "fetching", 50<<20, 100<<20, "bytes", 0)}, "10.0 MiB/s, 5.00s left"},
		{"resumed download", []event.StepProgress{report(0, "fetching", 90<<20, 100<<20, "bytes", 0), report(5, "fetching", 95<<20, 100<<20, "bytes", 0)}, "1.0 MiB/s, 5.00s left"},
		{"unpacking", []event.StepProgress{report(0, "unpacking", 1000, 0, "files", 1<<30), report(4, "unpacking", 3000, 0, "files", 1<<30+40<<20)}, "500 files/s, 10.0 MiB/s"},
		{"checksums of many files", []event.StepProgress{report(0, "a", 1, 100, "files", 1<<20), report(2, "b", 21, 100, "files", 3<<20), report(4, "c", 41, 100, "files", 5<<20)}, "10 files/s, 1.0 MiB/s, 5.90s left"},
		{"next output", []event.StepProgress{report(0, "train", 1, 1000, "files", 0), report(4, "train", 1000, 1000, "files", 0), report(5, "test", 10, 500, "files", 0)}, ""},
		{"began again", []event.StepProgress{report(0, "fetching", 50<<20, 100<<20, "bytes", 0), report(4, "fetching", 10<<20, 100<<20, "bytes", 0)}, ""},
		{"slow", []event.StepProgress{report(0, "x", 1, 5, "rows", 0), report(10, "x", 2, 5, "rows", 0)}, "30.0s left"},
		{"at once", []event.StepProgress{report(0, "x", 1, 5, "files", 0), report(0, "x", 4, 5, "files", 0)}, ""},
	} {
		var r rate
		var last event.StepProgress
		for _, e := range tt.reports {
			r.add(e)
			last = e
		}
		if got := rateText(last, &r, last.Time); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The time left follows the sizes where they are known, and work that was found done
// is no part of a rate.
func TestPace(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int, done, bytes, found int64) Work {
		return Work{StepProgress: event.StepProgress{At: event.At{Time: began.Add(time.Duration(seconds) * time.Second)},
			Progress: step.Progress{What: "objects/", Done: done, Total: 100, Unit: "objects", Bytes: bytes << 20, TotalBytes: 1000 << 20}}, FoundBytes: found << 20, Found: done}
	}
	var p Pace
	if got, want := p.Line("verify", at(0, 1, 10, 10), 0), "verify: 1 of 100 objects, 10.0 MiB of 1000.0 MiB objects/"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := "verify: 90 of 100 objects, 600.0 MiB of 1000.0 MiB objects/ (20.0 MiB/s, 20.0s left)"
	if got := p.Line("verify", at(10, 90, 600, 400), 0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := p.Line("verify", at(11, 91, 1000, 480), 0); strings.Contains(got, "left") {
		t.Errorf("all bytes are done: %q", got)
	}
	if got := p.Line("verify", at(11, 91, 1000, 480), 20); got != "verify: 91 of 100 …" {
		t.Errorf("%q", got)
	}
}
