package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

// TestVersions applies pipelines/versions.hcl on miniature raw data: one run
// reports v1 and v2 of every competition that has both, downloads each once,
// and marks crowded leaderboards in v2 alone. The miniature of
// multi-modal-gesture-recognition has stand-ins for the archives that v2 opens.
func TestVersions(t *testing.T) {
	t.Parallel()
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: pipelines + "versions.hcl"}
	ids := slices.DeleteFunc(fixed(t), func(id string) bool { return id == "multi-modal-gesture-recognition" })
	only, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := p.run("apply", p.file, "-var", "raw="+goldenRaw(t, ids...), "-var", "on_mismatch=warn", "-var", "task=own", "-var", goldenParams(t),
		"-var", "competitions="+string(only), "--json")
	if code != 0 {
		t.Fatalf("exit status %d\n%s\n%s", code, out, errs)
	}
	n := len(ids)
	// icecube's data are the same in both versions and checked once, against
	// the pins of v2.
	want := map[string]int{"download": n, "prepare": 2 * n, "checksum": 2*n - 1, "sketch": 2 * n, "task": n, "agent-run": 2 * n, "grade": 2 * n, "aggregate": 2}
	if diff := cmp.Diff(want, finished(t, out)); diff != "" {
		t.Errorf("steps that ran (-want +got):\n%s", diff)
	}
	v1, v2, _ := strings.Cut(leaderboard(p), "Version v2")
	v1, v2 = lastColumns(v1), lastColumns(v2)
	if len(valid.FindAllString(v1, -1)) != n || len(valid.FindAllString(v2, -1)) != n {
		t.Errorf("not %d valid submissions in each version:\n%s\n%s", n, v1, v2)
	}
	if strings.Contains(v1, "crowded") || strings.Count(v2, "(crowded)") != 5 {
		t.Errorf("crowded leaderboards are not marked in v2 alone:\n%s\n%s", v1, v2)
	}
}

// lastColumns is the part of a board with the last columns of its wrapped table.
func lastColumns(board string) string {
	return board[max(0, strings.LastIndex(board, "  valid\n")):]
}

// fixed returns the competitions that have a version v2, and sees that the
// pipeline names them all.
func fixed(t *testing.T) (ids []string) {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := os.ReadFile(pipelines + "versions.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range catalog.IDs() {
		def, err := catalog.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(def.Versions(), "v2") {
			continue
		}
		ids = append(ids, id)
		if !strings.Contains(string(pipeline), `"`+id+`"`) {
			t.Errorf("versions.hcl lacks %s", id)
		}
	}
	return ids
}
