package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
