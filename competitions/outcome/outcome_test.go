package outcome

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEnds holds what every end needs: a sentence, and a word for --retry where it is
// a failure with a name of its own.
func TestEnds(t *testing.T) {
	for _, e := range Ends() {
		if !e.Known() || !strings.HasSuffix(e.Doc(), ".") || strings.Contains(e.Text(), "_") {
			t.Errorf("%s: known %v, %q, %q", e, e.Known(), e.Text(), e.Doc())
		}
		if got := slices.Contains(Retried("failed"), string(e)); got != e.Failed() {
			t.Errorf("%s: --retry failed takes it: %v", e, got)
		}
	}
	if End("nonsense").Known() || Retried("nonsense") != nil {
		t.Error("nonsense is known")
	}
}

// TestRetryWords reads every word back, also as the outcome is spelled.
func TestRetryWords(t *testing.T) {
	for _, word := range RetryWords() {
		list := Retried(word)
		if len(list) == 0 || word != failed && (len(list) != 1 || !slices.Equal(Retried(list[0]), list)) {
			t.Errorf("%s takes %q", word, list)
		}
	}
}

// TestDocumented compares the documentation with the list.
func TestDocumented(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var names, words []string
	table := "| `outcome` | How the agent ended | Final | `--retry failed` |\n| --- | --- | --- | --- |\n"
	yes := map[bool]string{true: "yes", false: "no"}
	for _, e := range Ends() {
		names, words = append(names, string(e)), append(words, e.Text())
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", e, e.Doc(), yes[!e.Environmental()], yes[e.Failed()])
	}
	for name, want := range map[string]string{
		"docs/agents.md": table,
		"docs/export.md": "How the agent ended: " + strings.Join(names, ", ") + ".",
		"GLOSSARY.md":    "| outcome | How an attempt ended: " + strings.Join(words, ", ") + ". |",
	} {
		if !strings.Contains(read(name), want) {
			t.Errorf("%s does not have:\n%s", name, want)
		}
	}
	advice, board := read("docs/troubleshooting.md"), read("docs/leaderboard.md")
	for _, e := range Ends() {
		if e != Finished && e != MachineFailed && !strings.Contains(advice, "| `"+string(e)+"` |") {
			t.Errorf("docs/troubleshooting.md has no advice on %s", e)
		}
		if e != Finished && !strings.Contains(board, "`"+e.Text()+"`") {
			t.Errorf("docs/leaderboard.md has no %q", e.Text())
		}
	}
}
