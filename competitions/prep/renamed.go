package prep

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/engine/diag"
)

// renamed maps the old names of verbs to those that pandas has for the same
// thing. No old name works; the error for one gives the new one.
var renamed = map[string]string{
	"with": "assign", "count_within": "cumcount", "number_groups": "ngroup", "sort_by": "sort_values", "is_in": "isin",
	"is_missing": "isna", "fill_missing": "fillna", "cumulative_sum": "cumsum", "map_values": "map",
	"starts_with": "startswith", "ends_with": "endswith", "pad": "zfill", "tail": "skip",
}

// unknownVerb suggests a replacement for a verb that does not exist.
func (e *evaluator) unknownVerb(name string) string {
	if now, ok := renamed[name]; ok {
		return fmt.Sprintf("It is called %s now.", now)
	}
	return diag.Suggest(name, slices.Concat(sortedKeys(e.verbs), sortedKeys(e.functions)))
}
