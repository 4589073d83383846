package ui

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/engine/step"
)

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), board.CompareNames)
}

func escaped(text string) string { return url.QueryEscape(text) }

// bounded shortens a text to n bytes and adds how much is omitted.
func bounded(text []byte, n int) string {
	if len(text) <= n {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:n]), "\ufffd") + "\n… " + view.Bytes(int64(len(text)-n)) + " more"
}

// phase fills in an attempt's current phase.
func (row *runningRow) phase(p step.Phase, now time.Time) {
	if p.Name == "" {
		return
	}
	row.Phase = string(p.Name)
	switch {
	case p.Name == step.Running:
		row.Took = view.Duration(now.Sub(p.Started).Round(time.Second))
		if p.LimitMillis > 0 {
			row.Limit = view.Millis(p.LimitMillis)
			row.Share, row.HasShare = int(min(100, now.Sub(p.Started).Milliseconds()*100/p.LimitMillis)), true
		}
		row.Submission = string(p.Submission)
		if p.Reason != "" {
			row.Submission += ": " + p.Reason
		}
		if p.MemoryBytes > 0 {
			row.Memory = view.Bytes(p.MemoryBytes)
		}
	case p.TotalBytes > 0:
		row.Share, row.HasShare = int(min(100, p.Bytes*100/p.TotalBytes)), true
		row.Phase = view.PhaseText(p, now)
	}
}

func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > 1e9 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
