package ui

import (
	"net/http"
	"strings"
	"testing"
)

// TestRemovedRun: a run that is removed while its page is open is not found any more, and
// the list, which names the command, lacks it.
func TestRemovedRun(t *testing.T) {
	l := newLab(t)
	run, _ := l.usualRun()
	for _, tt := range []struct {
		status int
		listed bool
	}{{http.StatusOK, true}, {http.StatusNotFound, false}} {
		if status, text := l.get(runAddress(run)); status != tt.status {
			t.Errorf("the run's page: status %d, want %d: %s", status, tt.status, text)
		}
		_, text := l.get("/runs")
		if strings.Contains(text, runAddress(run)) != tt.listed || strings.Contains(text, "mleflow runs remove") != tt.listed {
			t.Errorf("the list of runs: %s", text)
		}
		if tt.listed {
			if err := l.history.Remove(run); err != nil {
				t.Fatal(err)
			}
		}
	}
}
