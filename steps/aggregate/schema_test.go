package aggregate_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/steptest"
)

type reportSchema struct {
	Required   []string
	Properties map[string]any
	Examples   []map[string]any
}

func readSchema(t *testing.T) reportSchema {
	t.Helper()
	text, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s reportSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// fields are the names in JSON of a struct's fields, and of those embedded.
func fields(ty reflect.Type) (names []string) {
	for f := range ty.Fields() {
		f := f
		if f.Anonymous {
			names = append(names, fields(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestSchemaNamesTheFields: the documented report is the one that is read.
func TestSchemaNamesTheFields(t *testing.T) {
	s := readSchema(t)
	want := slices.Sorted(slices.Values(fields(reflect.TypeFor[grading.Graded]())))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
		t.Errorf("docs/report.schema.json: %s", diff)
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			t.Errorf("%s is required and not described", name)
		}
	}
}

// TestReportByHand: a report that has what the schema requires is on the
// board, and a leaderboard reads it.
func TestReportByHand(t *testing.T) {
	for _, example := range readSchema(t).Examples {
		kept := map[string]any{"labels": example["labels"]}
		for _, name := range readSchema(t).Required {
			if _, ok := example[name]; !ok {
				t.Fatalf("the example lacks %s", name)
			}
			kept[name] = example[name]
		}
		text, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		b := steptest.New(aggregate.Kind(catalog(t)))
		out, err := b.Run(t, map[string]cty.Value{"reports": cty.ListVal([]cty.Value{b.Blob(t, string(text))})})
		if err != nil {
			t.Fatal(err)
		}
		table := b.Files(t, out["files"].Ref)["board.txt"]
		if !strings.Contains(table, "my-competition") || !strings.Contains(table, "0.75") {
			t.Errorf("the board is %s", table)
		}
		file, err := board.ReadFile(bytes.NewReader(text))
		if err != nil || len(file.Reports) != 1 || file.Reports[0].Labels["agent"] != "mine" || !file.Reports[0].SilverMedal {
			t.Errorf("got %+v, %v", file, err)
		}
	}
}
