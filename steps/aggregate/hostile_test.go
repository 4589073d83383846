package aggregate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/steptest"
)

// TestHostileBoards makes boards of an agent whose name and usage.json are
// hostile, and looks at every file that people open.
func TestHostileBoards(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		b := steptest.New(aggregate.Kind(catalog(t)))
		usage, err := json.Marshal(map[string]string{"model": h.Text})
		if err != nil {
			t.Fatal(err)
		}
		attempt := cty.ObjectVal(map[string]cty.Value{
			"logs": b.Tree(t, map[string]string{"usage.json": string(usage)}), "outcome": cty.StringVal("finished"),
			"stats": cty.ObjectVal(map[string]cty.Value{"wall_seconds": cty.NumberIntVal(1), "cpu_seconds": cty.Zero, "validations": cty.Zero}),
		})
		other := run{agent: "other", competition: "apples", seed: "1", score: 0.5}
		list := []run{{agent: h.Text, competition: "apples", seed: "1", score: 0.7, medal: "gold"}, other}
		out, err := b.Run(t, map[string]cty.Value{
			"reports": reports(t, b, list), "attempts": cty.ListVal([]cty.Value{attempt, attempt}),
			"title": cty.StringVal(h.Text), "labels": cty.MapVal(map[string]cty.Value{"other": cty.StringVal(h.Text + " too")}),
		})
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		files := b.Files(t, out["files"].Ref)
		for _, name := range []string{"figures.csv", "runs.csv"} {
			if err := hostiletest.CSV(files[name]); err != nil {
				t.Errorf("%s: %s: %v", h.Name, name, err)
			}
		}
		for _, name := range []string{"figures.csv", "runs.csv", "board.md", "board.txt"} {
			if err := hostiletest.Terminal(files[name]); err != nil {
				t.Errorf("%s: %s: %v", h.Name, name, err)
			}
		}
		for line := range strings.Lines(files["board.md"]) {
			if strings.Contains(line, hostiletest.Mark) && strings.HasPrefix(line, "|") {
				if err := hostiletest.Markdown(strings.TrimSpace(line), 13); err != nil {
					t.Errorf("%s: %v", h.Name, err)
				}
			}
		}
		if rows := strings.Count(files["board.txt"], "\n"); rows != strings.Count(plainBoard(t, strings.Repeat("a", utf8.RuneCountInString(strings.ToValidUTF8(h.Text, "?")))), "\n") {
			t.Errorf("%s: the board has %d lines:\n%s", h.Name, rows, files["board.txt"])
		}
	}
}

// plainBoard is the board of TestHostileBoards with a harmless text.
func plainBoard(t *testing.T, text string) string {
	t.Helper()
	b := steptest.New(aggregate.Kind(catalog(t)))
	attempt := cty.ObjectVal(map[string]cty.Value{
		"logs": b.Tree(t, map[string]string{"usage.json": `{"model": "m"}`}), "outcome": cty.StringVal("finished"),
		"stats": cty.ObjectVal(map[string]cty.Value{"wall_seconds": cty.NumberIntVal(1), "cpu_seconds": cty.Zero, "validations": cty.Zero}),
	})
	list := []run{{agent: text, competition: "apples", seed: "1", score: 0.7, medal: "gold"}, {agent: "other", competition: "apples", seed: "1", score: 0.5}}
	out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, list), "attempts": cty.ListVal([]cty.Value{attempt, attempt}),
		"labels": cty.MapVal(map[string]cty.Value{"other": cty.StringVal(text + " too")})})
	if err != nil {
		t.Fatal(err)
	}
	return b.Files(t, out["files"].Ref)["board.txt"]
}
