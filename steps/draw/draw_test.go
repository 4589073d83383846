package draw_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/draw"
	"github.com/mleflow/mleflow/steps/steptest"
)

func newBench(t *testing.T) *steptest.Bench {
	t.Helper()
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  prepare {}
	  grade {
	    metric  = "accuracy"
	    id      = "id"
	    targets = ["y"]
	  }
	  medals { scores = [1, 0.5] }
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(draw.Kind(cat))
}

// toy has ten ids of the test and twenty of the training data.
func toy(t *testing.T, b *steptest.Bench, more map[string]cty.Value) map[string]cty.Value {
	t.Helper()
	rows := func(head string, from, to int, format string) string {
		text := head + "\n"
		for i := from; i < to; i++ {
			text += fmt.Sprintf(format+"\n", i)
		}
		return text
	}
	values := map[string]cty.Value{"competition": cty.StringVal("toy"), "prepared": cty.ObjectVal(map[string]cty.Value{
		"public":  b.Tree(t, map[string]string{"sample_submission.csv": rows("id,y", 0, 10, "%d,a"), "test.csv": rows("id,x", 0, 10, "%d,1"), "train.csv": rows("id,x,y", 10, 30, "%d,1,a")}),
		"private": b.Tree(t, map[string]string{"test.csv": rows("id,y", 0, 10, "%d,a")}),
	})}
	for name, v := range more {
		values[name] = v
	}
	return values
}

// TestDraw draws the same ids by the same seed, others by another, and none where all are asked
// for as a validation.
func TestDraw(t *testing.T) {
	b := newBench(t)
	drawn := func(ids, seed int64, of string) (public, private map[string]string) {
		out, err := b.Run(t, toy(t, b, map[string]cty.Value{"ids": cty.NumberIntVal(ids), "seed": cty.NumberIntVal(seed), "of": cty.StringVal(of)}))
		if err != nil {
			t.Fatal(err)
		}
		return b.Files(t, out["public"].Ref), b.Files(t, out["private"].Ref)
	}
	public, private := drawn(4, 1, "test")
	for name, want := range map[string]int{"sample_submission.csv": 5, "test.csv": 5, "train.csv": 9} {
		if n := strings.Count(public[name], "\n"); n != want {
			t.Errorf("%s has %d lines, want %d", name, n, want)
		}
	}
	again, _ := drawn(4, 1, "test")
	_, other := drawn(4, 2, "test")
	if again["test.csv"] != public["test.csv"] || other["test.csv"] == private["test.csv"] || strings.Count(private["test.csv"], "\n") != 5 {
		t.Errorf("seed 1: %q, again %q; seed 2: %q", public["test.csv"], again["test.csv"], other["test.csv"])
	}
	if _, private := drawn(0, 0, "validation"); strings.Count(private["test.csv"], "\n") != 11 {
		t.Errorf("all: %q", private["test.csv"])
	}
	if _, err := b.Run(t, toy(t, b, map[string]cty.Value{"ids": cty.NumberIntVal(11)})); err == nil || !strings.Contains(err.Error(), "there are 10") {
		t.Errorf("more than there are: %v", err)
	}
}

// TestConditions marks what is made of a draw, and refuses one that draws nothing.
func TestConditions(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		ids, seed int64
		of        string
		want      []string
		refused   string
	}{
		{4, 1, "test", []string{"data=micro-4-1"}, ""},
		{4, 0, "validation", []string{"data=micro-4-0", "data=validation"}, ""},
		{0, 0, "validation", []string{"data=validation"}, ""},
		{0, 0, "test", nil, "how many to draw"},
		{-1, 0, "test", nil, "negative"},
	} {
		args := b.Args(t, toy(t, b, map[string]cty.Value{"ids": cty.NumberIntVal(tt.ids), "seed": cty.NumberIntVal(tt.seed), "of": cty.StringVal(tt.of)}))
		s, err := b.Kind.New(args)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := step.Conditions(args, s); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
