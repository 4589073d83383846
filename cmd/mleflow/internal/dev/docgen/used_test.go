package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

func TestUses(t *testing.T) {
	def := shipped(t, "siim-isic-melanoma-classification")
	verbs := usedVerbs(def)
	wantVerbs := []string{"after", "assign", "concat", "csv", "files", "filter", "isin", "select", "sequence", "table", "tfrecord_texts", "where_in", "where_not_in", "zfill"}
	if diff := cmp.Diff(wantVerbs, verbs); diff != "" {
		t.Errorf("verbs (-want +got):\n%s", diff)
	}
}

func TestDraws(t *testing.T) {
	tests := map[string][]string{
		"siim-isic-melanoma-classification": nil,
		"spaceship-titanic":                 {"train_test_split test_size = 0.1, random_state = 0"},
		"whale-categorization-playground": {
			"sample_each count = 2, random_state = 0", "random_uniform random_state = 0", "train_test_split test_size = 0.1, random_state = 0",
		},
	}
	for id, want := range tests {
		if diff := cmp.Diff(want, drawnBy(shipped(t, id))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func shipped(t *testing.T, id string) *competitions.Definition {
	t.Helper()
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return def
}
