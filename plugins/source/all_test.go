package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/memory"
)

func TestAll(t *testing.T) {
	r := NewRegistry(All()...)
	if diff := cmp.Diff([]string{"file", "http", "kaggle"}, r.Names()); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if _, err := r.Get("ftp"); err == nil || !strings.Contains(err.Error(), "file, http, kaggle") {
		t.Errorf("got %v, want an error that lists the sources", err)
	}
}

func TestKaggle(t *testing.T) {
	if (Kaggle{}).Check(Spec{}) == nil {
		t.Error("a source without a slug is taken")
	}
	_, err := Kaggle{}.Fetch(t.Context(), Request{Spec: Spec{Slug: "titanic"}, Store: memory.New()})
	if err == nil || !strings.Contains(err.Error(), "competitions/titanic/data") {
		t.Errorf("got %v, want an error that says where to get the data", err)
	}
}
