package metric_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

func TestPlaceholdersFor(t *testing.T) {
	m := metric.Metric{
		Params: []metric.Param{
			{Name: "group", Kind: metric.TextParam},
			{Name: "class", Kind: metric.TextParam, Default: "class_id"},
			{Name: "flags", Kind: metric.TextsParam},
			{Name: "last", Kind: metric.NumberParam, Default: 1.0},
		},
		Placeholders: metric.Placeholders{"group": {"a"}, "class": {"0", "1"}, "flags": {"1"}, "x_min": {"5"}},
	}
	args := metric.Args{"group": "Patient", "flags": []string{"male", "female"}, "last": 3.0}
	for column, want := range map[string][]string{
		"Patient": {"a"}, "class_id": {"0", "1"}, "female": {"1"}, "x_min": {"5"}, "Weeks": nil,
	} {
		if diff := cmp.Diff(want, m.PlaceholdersFor(args, column)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", column, diff)
		}
	}
	if got := m.PlaceholdersFor(metric.Args{"class": "kind"}, "class_id"); got != nil {
		t.Errorf("a parameter that names another column: %v", got)
	}
}

// TestPlaceholdersAreKnown sees that a metric's placeholders speak of its parameters, of the
// target, or of columns that its documentation names.
func TestPlaceholdersAreKnown(t *testing.T) {
	for _, m := range metric.All().List() {
		for name, cells := range m.Placeholders {
			known := name == ""
			for _, p := range m.Params {
				known = known || p.Name == name
			}
			if known = known || strings.Contains(m.Doc, name); !known || len(cells) == 0 {
				t.Errorf("%s: %q stands for nothing that is known, or has no cells", m.Name, name)
			}
		}
	}
}
