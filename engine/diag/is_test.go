package diag_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/diag"
)

func TestIs(t *testing.T) {
	wrapped := fmt.Errorf("read: %w", context.Canceled)
	for name, tt := range map[string]struct {
		d    *hcl.Diagnostic
		want bool
	}{
		"an argument":             {diag.Error(hcl.Range{}, "Cannot read", "%s: %v.", "a.csv", wrapped), true},
		"one of two":              {diag.Error(hcl.Range{}, "Cannot read", "%v, %v", errors.New("other"), wrapped), true},
		"a failure":               {diag.Failure("Cannot read", wrapped), true},
		"a diagnostic within":     {diag.Error(hcl.Range{}, "Cannot write", "%v.", diag.List{diag.Failure("Cannot read", wrapped)}), true},
		"the same words, no more": {diag.Error(hcl.Range{}, "Wrong value", "%s", context.Canceled.Error()), false},
		"no error":                {diag.General("Wrong value", "Expected a number."), false},
	} {
		if got := diag.Is(tt.d, context.Canceled); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if diag.Cause(diag.List{diag.Error(hcl.Range{}, "Cannot read", "%v.", wrapped)}) != nil {
		t.Error("a mistake in a file counts as a failure of the machine")
	}
}
