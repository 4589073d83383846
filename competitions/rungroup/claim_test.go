package rungroup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/outcome"
)

func TestReadClaim(t *testing.T) {
	c, err := ReadClaim([]byte(`{"agent": "mine", "format": "Inspect AI", "outcome": "timed_out", "wall_seconds": 9.5, "usage": {"model": "a/m b/m", "input_tokens": 9, "cost_usd": 0.25}}`+"\n{\"id\":\n NaN}"), "logs/inspect.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c.Usage)
	if want := `{"model":"a/m b/m","input_tokens":9,"cost_usd":0.25}`; err != nil || string(got) != want {
		t.Errorf("usage %s, want %s", got, want)
	}
	if c.Agent != "mine" || c.Format != "Inspect AI" || c.File != "logs/inspect.json" || c.Outcome != outcome.TimedOut || *c.WallSeconds != 9.5 || string(c.Data) != "{\"id\":\n NaN}" {
		t.Errorf("agent %q, outcome %q, %v seconds, %s", c.Agent, c.Outcome, *c.WallSeconds, c.Data)
	}
	for _, bad := range []string{"", "[]", `{"outcome": "won"}`, `{"usage": {"model": 1}}`} {
		if _, err := ReadClaim([]byte(bad), "logs/inspect.json"); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestImport: a group grows by a run a call, and no other folder becomes a group.
func TestImport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "elsewhere")
	submission := filepath.Join(t.TempDir(), "s.csv")
	if err := os.WriteFile(submission, []byte("id,label\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	requests := 3.0
	claim := &Claim{Agent: "aide", Format: "ATIF-v1.7", File: "logs/trajectory.json", Data: []byte("{}")}
	claim.Usage.Requests = &requests
	for _, seed := range []string{"0", "1"} {
		if _, err := Import(dir, "leaf", seed, submission, claim); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Import(dir, "leaf", "1", submission, claim); err == nil {
		t.Error("an attempt is imported twice")
	}
	if _, err := Import(dir, "leaf", "2", "", claim); err != nil {
		t.Fatal(err)
	}
	group, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries := group.Entries()
	if len(entries) != 3 || len(group.Unlisted) > 0 {
		t.Fatalf("entries %+v, unlisted %q", entries, group.Unlisted)
	}
	for i, e := range entries {
		if e.Labels["agent"] != "aide" || e.Origin.Usage.Source != "claimed" || *e.Origin.Usage.Requests != 3 ||
			e.Origin.Evidence != "claimed by logs/trajectory.json, ATIF-v1.7, SHA-256 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
			t.Errorf("entry %d: %+v, origin %+v", i, e, e.Origin)
		}
	}
	if entries[2].SubmissionPath != "None" || entries[2].Origin.Outcome != string(outcome.NoSubmission) {
		t.Errorf("without a submission: %+v", entries[2])
	}
	if _, err := Import(filepath.Dir(submission), "leaf", "", submission, claim); err == nil || !strings.Contains(err.Error(), "is no run group") {
		t.Errorf("into a folder of other files: %v", err)
	}
}

// TestImpossibleClaims refuses amounts that no attempt can have used, wherever they stand.
func TestImpossibleClaims(t *testing.T) {
	inspect := func(usage, more string) error {
		_, err := ReadClaim([]byte(`{"agent": "a", "usage": {`+usage+`}`+more+`}`), "logs/inspect.json")
		return err
	}
	if err := inspect(`"input_tokens": 5, "cost_usd": 0.5`, `, "wall_seconds": 3`); err != nil {
		t.Error(err)
	}
	for _, bad := range [][2]string{
		{`"input_tokens": -5`, ``}, {`"input_tokens": 5, "cached_input_tokens": 6`, ``}, {`"cost_usd": -1`, ``}, {`"output_tokens": 1e17`, ``}, {`"cost_usd": 1e300`, ``},
		{``, `, "wall_seconds": -3`}, {``, `, "wall_seconds": 1e20`},
	} {
		if err := inspect(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "claims what cannot be") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	dir := t.TempDir()
	for _, bad := range []string{`"usage": {"cost_usd": -2}`, `"usage": {"output_tokens": 1e16}`, `"wall_seconds": -1`} {
		if err := os.WriteFile(filepath.Join(dir, metadataName), []byte(`{"run_group": "g", "runs": {"apples_1": {"success": true, `+bad+`}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "apples_1") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
