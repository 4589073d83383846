package site

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// runtime is how the attempt was run.
func (r *Row) runtime() string {
	names := strings.Join(conditions.Runtimes(r.Report.Conditions), " ")
	if shown := conditions.Shown(r.Report.Conditions); shown != names {
		names = strings.TrimSpace(names + " · isolation: " + shown)
	}
	return names
}

// limits returns the limits of an attempt in a few words.
func (r *Row) limits() string {
	var parts []string
	if v := r.TimeLimitSeconds; v != nil {
		parts = append(parts, view.Duration(time.Duration(*v*float64(time.Second))))
	}
	if v := r.CPULimit; v != nil {
		cpus := count(*v, "CPU")
		if conditions.Untrusted(r.Report.Conditions) {
			cpus += " " + conditions.NotEnforced
		}
		parts = append(parts, cpus)
	}
	if v := r.MemoryLimitBytes; v != nil && *v > 0 {
		parts = append(parts, view.Bytes(int64(*v)))
	}
	if v := r.GPULimit; v != nil && *v > 0 {
		parts = append(parts, count(*v, "GPU"))
	}
	return strings.Join(append(parts, "network: "+r.Network), " · ")
}

func count(v float64, what string) string {
	if v == 1 {
		return "1 " + what
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " " + what + "s"
}

// standingText counts the rows by standing.
func standingText(n map[verify.Standing]int) string {
	var parts []string
	for _, s := range []verify.Standing{verify.Recomputed, Matched, verify.Claimed} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], standingWords[s]))
		}
	}
	return strings.Join(parts, ", ")
}

// standingWords are the pages' words for standings.
var standingWords = map[verify.Standing]string{
	verify.Recomputed: "recomputed", Matched: "matched by digest", verify.Claimed: "only claimed", verify.Refused: "refused",
}

// amount writes a sum that may not be known.
func amount(v *float64) string {
	if v == nil {
		return "–"
	}
	return view.Count(int64(*v))
}
