package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// completed is a folder with a pipeline of its own, a run and a pin, and a
// competition.
const completed = `cat > pipeline.hcl <<'EOF'
variable "text" {
  type    = string
  default = "one"
}
step "exec" "say" {
  for_each = ["a", "b"]
  command  = ["/bin/sh", "-c", "echo ${var.text} ${each.key} > said"]
  outputs  = ["said"]
}
output "first" { value = step.exec.say["a"].tree }
EOF
mleflow apply pipeline.hcl
mleflow cache pin latest --name kept
mleflow competition new flats --dir mine
`

// TestCompletions asks for completions at every place that takes a run, an
// address, an output, a pin, a competition, a set, a variable or a word.
func TestCompletions(t *testing.T) {
	folder, env := t.TempDir(), pageEnv(t)
	shell(t, completed, folder, env)
	run := strings.TrimSpace(shell(t, `mleflow runs | sed -n '2s/ .*//p'`, folder, env))
	const (
		files   = cobra.ShellCompDirectiveDefault
		one     = cobra.ShellCompDirectiveNoFileComp
		folders = cobra.ShellCompDirectiveFilterDirs
		hcl     = cobra.ShellCompDirectiveFilterFileExt
		ordered = one | cobra.ShellCompDirectiveKeepOrder
		named   = ordered | cobra.ShellCompDirectiveNoSpace
	)
	runs := []string{"latest", run}
	address := []string{`step.exec.say["a"]`}
	blocks := append([]string{"step.exec.say"}, address...)
	for _, tt := range []struct {
		line []string
		// want are some of the words that are offered.
		want      []string
		directive cobra.ShellCompDirective
	}{
		{[]string{"init", ""}, []string{"hcl"}, hcl},
		{[]string{"init", "-c", ""}, []string{"leaf-classification"}, ordered},
		{[]string{"fmt", "one.hcl", ""}, []string{"hcl"}, hcl},
		{[]string{"validate", ""}, []string{"hcl"}, hcl},
		{[]string{"validate", "-var", ""}, []string{"text="}, named},
		{[]string{"plan", ""}, []string{"hcl"}, hcl},
		{[]string{"plan", "pipeline.hcl", ""}, nil, one},
		{[]string{"plan", "-var", ""}, []string{"text="}, named},
		{[]string{"plan", "pipeline.hcl", "--target", ""}, blocks, ordered},
		{[]string{"plan", "-force", ""}, blocks, ordered},
		{[]string{"plan", "--adopt", ""}, nil, folders},
		{[]string{"plan", "--connections", ""}, nil, one},
		{[]string{"apply", ""}, []string{"hcl"}, hcl},
		{[]string{"apply", "-var", "t"}, []string{"text="}, named},
		{[]string{"apply", "--target", ""}, blocks, ordered},
		{[]string{"apply", "--force", ""}, blocks, ordered},
		{[]string{"apply", "--fail-on", ""}, []string{"agent"}, ordered},
		{[]string{"apply", "-var-file", ""}, nil, files},
		{[]string{"lock", ""}, []string{"hcl"}, hcl},
		{[]string{"lock", "--target", ""}, blocks, ordered},
		{[]string{"lock", "-var", ""}, []string{"text="}, named},
		{[]string{"lock", "-o", ""}, []string{"hcl"}, hcl},
		{[]string{"explain", ""}, blocks, cobra.ShellCompDirectiveKeepOrder},
		{[]string{"explain", "pipeline.hcl", ""}, blocks, ordered},
		{[]string{"explain", "--var", ""}, []string{"text="}, named},
		{[]string{"graph", ""}, []string{"hcl"}, hcl},
		{[]string{"graph", "--var", ""}, []string{"text="}, named},
		{[]string{"graph", "--format", ""}, []string{"dot", "mermaid"}, ordered},
		{[]string{"runs", ""}, []string{"cleanup"}, one},
		{[]string{"show", ""}, runs, ordered},
		{[]string{"show", "latest", ""}, nil, one},
		{[]string{"output", ""}, []string{"first"}, ordered},
		{[]string{"output", "--run", ""}, runs, ordered},
		{[]string{"output", "--run", run, ""}, []string{"first"}, ordered},
		{[]string{"get", ""}, runs, ordered},
		{[]string{"get", "latest", ""}, address, ordered},
		{[]string{"get", run, `step.exec.say["a"].`}, []string{`step.exec.say["a"].tree`}, ordered},
		{[]string{"get", "latest", "--all", ""}, nil, ordered},
		{[]string{"get", "latest", "-o", ""}, nil, folders},
		{[]string{"diff", ""}, runs, ordered},
		{[]string{"diff", "latest", ""}, runs, ordered},
		{[]string{"diff", "latest", run, ""}, nil, one},
		{[]string{"verify", ""}, runs, cobra.ShellCompDirectiveKeepOrder},
		{[]string{"verify", "latest", "-var", ""}, []string{"text="}, named},
		{[]string{"bundle", ""}, runs, ordered},
		{[]string{"bundle", run, "--var", ""}, []string{"text="}, named},
		{[]string{"logs", ""}, runs, ordered},
		{[]string{"logs", "latest", ""}, address, ordered},
		{[]string{"report", ""}, runs, ordered},
		{[]string{"export", ""}, append([]string{"run-group"}, runs...), cobra.ShellCompDirectiveKeepOrder},
		{[]string{"export", "--format", ""}, []string{"parquet", "csv"}, ordered},
		{[]string{"export", "run-group", ""}, runs, ordered},
		{[]string{"cache", "ls", ""}, address, ordered},
		{[]string{"cache", "pin", ""}, append(runs, address...), ordered},
		{[]string{"cache", "unpin", ""}, []string{"kept"}, ordered},
		{[]string{"cache", "push", ""}, append(address, "kept"), ordered},
		{[]string{"cache", "push", "--run", ""}, runs, ordered},
		{[]string{"cache", "pull", ""}, append(address, "kept"), ordered},
		{[]string{"cache", "pull", "--run", ""}, runs, ordered},
		{[]string{"competition", "list", "--split", ""}, []string{"low", "all", "own"}, ordered},
		{[]string{"competition", "list", "--category", ""}, []string{"image-classification"}, ordered},
		{[]string{"competition", "show", ""}, []string{"leaf-classification"}, ordered},
		{[]string{"competition", "show", "--competitions", "mine", ""}, []string{"flats", "leaf-classification"}, ordered},
		{[]string{"competition", "new", "x", "--from", ""}, []string{"tabular", "kaggle:"}, named},
		{[]string{"competition", "lint", "--dir", "mine", ""}, []string{"flats"}, ordered},
		{[]string{"competition", "test", "leaf-classification", ""}, []string{"spaceship-titanic"}, ordered},
		{[]string{"competition", "test", "new-york-city-taxi-fare-prediction", "--param", ""}, []string{"test_size="}, named},
		{[]string{"competition", "lock", ""}, []string{"leaf-classification"}, ordered},
		{[]string{"competition", "lock", "tgs-salt-identification-challenge", "--version", ""}, []string{"v1", "v2"}, ordered},
		{[]string{"competition", "lock", "--from-run", ""}, runs, ordered},
		{[]string{"prepare", "-c", ""}, []string{"leaf-classification"}, ordered},
		{[]string{"prepare", "--competition", ""}, []string{"leaf-classification"}, ordered},
		{[]string{"prepare", "--split", ""}, []string{"low"}, ordered},
		{[]string{"prepare", "--list", ""}, nil, files},
		{[]string{"prepare", "-c", "new-york-city-taxi-fare-prediction", "--param", ""}, []string{"test_size="}, named},
		{[]string{"grade", "--submission", ""}, nil, files},
		{[]string{"grade", "--run-group", ""}, nil, folders},
		{[]string{"grade-sample", ""}, nil, files},
		{[]string{"grade-sample", "submission.csv", ""}, []string{"leaf-classification"}, ordered},
		{[]string{"leaderboard", ""}, runs, cobra.ShellCompDirectiveKeepOrder},
		{[]string{"leaderboard", "latest", ""}, runs, cobra.ShellCompDirectiveKeepOrder},
		{[]string{"leaderboard", "--against", ""}, runs, cobra.ShellCompDirectiveKeepOrder},
		{[]string{"leaderboard", "latest", "--split", ""}, []string{"low"}, ordered},
		{[]string{"leaderboard", "latest", "--format", ""}, []string{"csv", "parquet"}, ordered},
		{[]string{"leaderboard", "latest", "--table", ""}, []string{"figures", "runs"}, ordered},
		{[]string{"doctor", ""}, []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}, one},
	} {
		t.Run(strings.Join(tt.line, " "), func(t *testing.T) {
			t.Parallel()
			words, directive := completions(t, tt.line, folder, env)
			for _, want := range tt.want {
				if !slices.Contains(words, want) {
					t.Errorf("%q is not offered; offered are %q", want, words)
				}
			}
			if len(tt.want) == 0 && len(words) > 0 {
				t.Errorf("offered are %q", words)
			}
			if directive != tt.directive {
				t.Errorf("the directive is %d, not %d", directive, tt.directive)
			}
		})
	}
}

// completions returns what a shell is offered at the end of a line, without
// descriptions, and the directive, which comes last.
func completions(t *testing.T, line []string, folder string, env []string) (words []string, directive cobra.ShellCompDirective) {
	cmd := exec.CommandContext(t.Context(), "mleflow", append([]string{"__complete"}, line...)...)
	cmd.Dir, cmd.Env = folder, env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := len(lines) - 1
	if _, err := fmt.Sscanf(lines[last], ":%d", &directive); err != nil {
		t.Fatalf("no directive in %q", out)
	}
	for _, line := range lines[:last] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return words, directive
}
