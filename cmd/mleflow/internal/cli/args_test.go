package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

func TestNormalise(t *testing.T) {
	tests := []struct {
		name      string
		args, out []string
	}{
		{"one dash", []string{"plan", "p.hcl", "-var", "k=v", "-target=step.a.b"}, []string{"plan", "p.hcl", "--var", "k=v", "--target=step.a.b"}},
		{"two dashes stay", []string{"apply", "--var", "k=v", "--keep-going"}, []string{"apply", "--var", "k=v", "--keep-going"}},
		{"a value that looks like a flag", []string{"plan", "-var", "-target"}, []string{"plan", "--var", "-target"}},
		{"a flag without value takes none", []string{"plan", "-json", "-var"}, []string{"plan", "--json", "--var"}},
		{"short flags stay", []string{"-v", "prepare", "-c", "x", "-o", "-"}, []string{"-v", "prepare", "-c", "x", "-o", "-"}},
		{"after the end of flags", []string{"fmt", "--", "-check"}, []string{"fmt", "--", "-check"}},
		{"unknown flags stay", []string{"plan", "-nonsense", "-"}, []string{"plan", "-nonsense", "-"}},
	}
	root := NewRoot(app.NewApp(&app.Terminal{}))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.out, app.Normalise(root, tt.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFlagsAgree makes sure that a long flag takes a value in all commands or
// in none, which normalise relies on.
func TestFlagsAgree(t *testing.T) {
	root := NewRoot(app.NewApp(&app.Terminal{}))
	takes := app.LongFlags(root)
	for _, args := range [][]string{{"plan", "-json"}, {"grade-sample", "-json"}} {
		if takes[args[1][1:]] {
			t.Errorf("flag %s takes a value", args[1])
		}
	}
	if !takes["var"] || !takes["param"] || takes["check"] {
		t.Error("flags with and without values are mixed up")
	}
}

func TestExitStatus(t *testing.T) {
	mistake := &app.DiagError{List: diag.List{diag.General("Bad", "bad")}}
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"nothing wrong", nil, 0},
		{"the world", fmt.Errorf("read x: %w", fs.ErrPermission), 1},
		{"a step failed", fmt.Errorf("%w: steps failed", app.ErrSilent), 1},
		{"wrong usage", app.Usagef("no"), 2},
		{"a mistake in a file", fmt.Errorf("load: %w", mistake), 2},
		{"a failure told as a diagnostic", &app.DiagError{List: diag.List{diag.Failure("Bad", fs.ErrPermission)}}, 1},
		{"a mismatch", fmt.Errorf("%w: %w", app.ErrSilent, step.Mismatch(errors.New("md5"))), 3},
		{"an invalid submission", fmt.Errorf("%w: %w", app.ErrSilent, app.ErrInvalidSubmission), 4},
		{"interrupted", fmt.Errorf("apply: %w", context.Canceled), 130},
		{"interrupted counts before usage", errors.Join(app.Usagef("no"), context.Canceled), 130},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := app.ExitStatus(tt.err); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMergeDiagnostics(t *testing.T) {
	at := func(line int) hcl.Range {
		return hcl.Range{Filename: "p.hcl", Start: hcl.Pos{Line: line, Column: 1}, End: hcl.Pos{Line: line, Column: 2}}
	}
	got := app.Merge(diag.List{
		diag.Error(at(1), "Bad", "for a"), diag.Error(at(2), "Bad", "elsewhere"), diag.Error(at(1), "Bad", "for b"),
		diag.Error(at(1), "Worse", "another"), diag.General("Bad", "no place"), diag.General("Bad", "no place"),
	})
	var texts []string
	for _, d := range got {
		texts = append(texts, d.Summary+": "+d.Detail)
	}
	want := []string{"Bad: for a (And 1 more here.)", "Bad: elsewhere", "Worse: another", "Bad: no place", "Bad: no place"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}
