package export

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
)

// External lists the competitions whose scores a program of theirs computed,
// each once.
func External(reports []grading.Report) []string {
	var ids []string
	for _, r := range reports {
		if r.MetricExternal && !slices.Contains(ids, r.CompetitionID) {
			ids = append(ids, r.CompetitionID)
		}
	}
	slices.Sort(ids)
	return ids
}

// ExternalNotes say that of scores that are not mleflow's own.
func ExternalNotes(reports []grading.Report) []string {
	ids := External(reports)
	if len(ids) == 0 {
		return nil
	}
	return []string{"external metric: " + strings.Join(ids, ", ") + "; a program of the competition computed the scores, not mleflow."}
}
