package verify

import (
	"errors"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
)

func TestCheckVersions(t *testing.T) {
	made := func(step.Args) (step.Step, error) { return nil, nil }
	kinds := step.NewRegistry(step.Kind{Name: conditions.GradeKind, Version: "5", New: made}, step.Kind{Name: "exec", Version: "2", New: made})
	for name, want := range map[string]bool{"5": false, "4": true, "6": true, "": true} {
		x := &bundle.Examined{Kinds: map[string]string{conditions.GradeKind: name, "exec": "1", "gone": "1"}}
		x.Run.Version = "0.0.9"
		err := CheckVersions(x, kinds)
		var other *OtherVersion
		if errors.As(err, &other) != want || errors.Is(err, step.ErrMismatch) != want {
			t.Errorf("version %q: %v", name, err)
		}
		if want && err.Error() != "it is of another version of mleflow, not necessarily wrong: its grade steps have version "+name+", and here 5; verify it with mleflow 0.0.9" {
			t.Error(err)
		}
	}
}
