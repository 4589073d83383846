package aggregate_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/steptest"
)

// TestEveryFileSaysNotIsolated looks for it in all files of a board.
func TestEveryFileSaysNotIsolated(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	list := []run{{"weak", "apples", "0", 0.5, "gold", true}, {"weak", "pears", "0", 0.5, "gold", true}}
	out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, list)})
	if err != nil {
		t.Fatal(err)
	}
	files := b.Files(t, out["files"].Ref)
	if len(files) != 9 {
		t.Errorf("files: %v", slices.Sorted(maps.Keys(files)))
	}
	for name, text := range files {
		if !strings.Contains(text, conditions.NotIsolated) {
			t.Errorf("%s does not say it:\n%.2000s", name, text)
		}
	}
	for _, name := range []string{"board.md", "board.txt"} {
		if want := "Untrusted: 2 of 2 attempts of weak were not isolated (runtime process)."; !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
}

// TestReportsAreNotBelieved gives reports that claim an isolation which the
// engine knows nothing of, or knows better.
func TestReportsAreNotBelieved(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	claim := func(agent string) string {
		text := run{agent, "apples", "0", 0.5, "", false}.report(t)
		return strings.Replace(text, "{", `{"isolation": "container", "conditions": ["isolation=container", "runtime=containerd"],`, 1)
	}
	out, err := b.Run(t, map[string]cty.Value{"reports": cty.ListVal([]cty.Value{
		b.Blob(t, claim("nobody")), steptest.Under(b.Blob(t, claim("process")), conditions.Of("process", conditions.None)...),
	})})
	if err != nil {
		t.Fatal(err)
	}
	var board aggregate.Board
	if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, a := range board.Agents {
		got[a.Name] = []string{a.Overall.Isolation, a.Groups[0].Isolation, a.Competitions[0].Isolation}
	}
	for _, e := range board.Entries {
		got[e.Agent] = append(got[e.Agent], e.Report.Isolation, strings.Join(e.Report.Conditions, " "))
	}
	want := map[string][]string{
		"nobody":  {"unknown", "unknown", "unknown", "unknown", ""},
		"process": {"none (untrusted)", "none (untrusted)", "none (untrusted)", "none (untrusted)", "isolation=none runtime=process"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
