package grading

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// TestSketchTellsNothing gives all competitions other labels, each the next row's,
// and sees that the sketch stays the same.
func TestSketchTellsNothing(t *testing.T) {
	t.Parallel()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range goldentest.IDs(t) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := catalog.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			plan, diags := Decode(def, metric.All(), nil)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			dir := filepath.Join(goldentest.Unpack(t, id), "prepared")
			sample, err := table.ReadCSVFile(filepath.Join(dir, def.Layout.Sample), table.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			answers, err := plan.readAnswers(filepath.Join(dir, def.Layout.Answers))
			if err != nil {
				t.Fatal(err)
			}
			others := relabelled(t, plan, answers)
			// The only answer of vesuvius has no other.
			if answers.Len() > 1 && bytes.Equal(written(t, answers), written(t, others)) {
				t.Fatal("the labels are the same")
			}
			if a, b := drawSketch(t, plan, sample, answers), drawSketch(t, plan, sample, others); !bytes.Equal(a, b) {
				t.Errorf("the sketch depends on labels:\n%s\n%s", a, b)
			}
		})
	}
}

// relabelled returns the answers with each column but ids and shape moved by a row
// among the scored rows, and among the others.
func relabelled(t *testing.T, plan *Plan, answers *table.Table) *table.Table {
	t.Helper()
	scored, err := plan.scored(answers)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, len(scored))
	for _, mark := range []bool{true, false} {
		var of []int
		for i, m := range scored {
			if m == mark {
				of = append(of, i)
			}
		}
		for i, row := range of {
			rows[row] = of[(i+1)%len(of)]
		}
	}
	kept := append(plan.Metric.Shape(plan.args), plan.ID)
	others := answers.Take(rows)
	var columns []*table.Column
	for _, c := range answers.Columns() {
		if !slices.Contains(kept, c.Name()) {
			if c, err = others.Column(c.Name()); err != nil {
				t.Fatal(err)
			}
		}
		columns = append(columns, c)
	}
	out, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func drawSketch(t *testing.T, plan *Plan, sample, answers *table.Table) []byte {
	t.Helper()
	sketch, err := plan.Sketch(sample, answers)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, sketch)
}

func written(t *testing.T, rows *table.Table) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := table.WriteCSV(&b, rows, table.WriteOptions{Quoting: table.QuoteAll}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSketchOfObjects sees that the number of objects in a picture, which is a label,
// does not get into the sketch.
func TestSketchOfObjects(t *testing.T) {
	t.Parallel()
	plan := &Plan{ID: "id", Targets: []string{"box"}, Truth: []string{"box"}}
	ids := func(names ...string) *table.Column { return table.FromTexts("id", names, nil) }
	answers := func(names ...string) *table.Table {
		a, err := table.New(ids(names...), table.FromTexts("box", names, nil))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	sample, err := table.New(ids("b", "a", "c"))
	if err != nil {
		t.Fatal(err)
	}
	want := drawSketch(t, plan, sample, answers("a", "a", "b"))
	for _, other := range [][]string{{"b", "a"}, {"b", "b", "b", "a"}} {
		if got := drawSketch(t, plan, sample, answers(other...)); !bytes.Equal(got, want) {
			t.Errorf("%v: sketch\n%s\nwant\n%s", other, got, want)
		}
	}
}

// TestSketchHidesOrder sees that answers in the order of their labels have the sketch of
// answers in any other order: that of the sample.
func TestSketchHidesOrder(t *testing.T) {
	t.Parallel()
	texts := func(name string, cells ...string) *table.Column { return table.FromTexts(name, cells, nil) }
	rows := func(columns ...*table.Column) *table.Table {
		out, err := table.New(columns...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	sample := rows(texts("id", "b", "a", "c", "a"))
	sorted, mixed := rows(texts("id", "a", "a", "c", "b"), texts("y", "0", "0", "0", "1")), rows(texts("id", "b", "c", "a", "a"), texts("y", "1", "0", "0", "0"))
	plan := &Plan{ID: "id", Targets: []string{"y"}, Truth: []string{"y"}}
	want := "\"id\",\"mleflow_scored\"\n\"b\",\"True\"\n\"a\",\"True\"\n\"c\",\"True\"\n\"a\",\"True\"\n"
	for _, answers := range []*table.Table{sorted, mixed} {
		if got := string(drawSketch(t, plan, sample, answers)); got != want {
			t.Errorf("sketch\n%s\nwant\n%s", got, want)
		}
	}
	plan.requirements = []requirement{{name: "same_id_order"}}
	if _, err := plan.Sketch(sample, sorted); err == nil || !strings.Contains(err.Error(), "write both in one order") {
		t.Errorf("same_id_order with another order: %v", err)
	}
	if _, err := plan.Sketch(rows(texts("id", "a", "a", "c", "b")), sorted); err != nil {
		t.Errorf("same_id_order with the sample's order: %v", err)
	}
}
