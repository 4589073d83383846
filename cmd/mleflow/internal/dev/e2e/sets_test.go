package e2e

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
)

const pipelines = "../../../../../pipelines/"

// goldenParams returns the sizes that the golden cases scale down, as a flag's
// value.
func goldenParams(t *testing.T) string {
	t.Helper()
	return "params=" + string(goldentest.AllParams(t))
}

// goldenCases unpacks the golden cases as DIR/<id>/ and returns their ids.
func goldenCases(t *testing.T, dir string, only ...string) (ids []string) {
	t.Helper()
	for _, id := range goldentest.IDs(t) {
		if len(only) > 0 && !slices.Contains(only, id) {
			continue
		}
		if err := os.Rename(goldentest.Unpack(t, id), filepath.Join(dir, id)); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// goldenRaw lays the raw data of the golden cases out as downloads are:
// DIR/<id>/; without a list, those of all.
func goldenRaw(t *testing.T, only ...string) string {
	t.Helper()
	dir, raw := t.TempDir(), t.TempDir()
	for _, id := range goldenCases(t, dir, only...) {
		if err := os.Rename(filepath.Join(dir, id, "raw"), filepath.Join(raw, id)); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// TestSets applies the pipelines of the development set and of all 75 on
// miniature raw data: every competition is fetched from a local folder,
// prepared, compared with its pins (which warns: they hold for the full data),
// solved by the dummy agent, graded and aggregated. A second time there is
// nothing to do; and of the pipelines of the subsets only the leaderboard is
// left, since they extend the same file.
func TestSets(t *testing.T) {
	t.Parallel()
	raw, shared := goldenRaw(t), filepath.Join(t.TempDir(), "cache")
	for _, name := range []string{"dev", "full"} {
		t.Run(name, func(t *testing.T) {
			n := len(competitionsOf(t, name))
			out, again := applySet(t, shared, name, raw)
			want := map[string]int{"download": n, "prepare": n, "checksum": n, "sketch": n, "task": n, "agent-run": n, "grade": n, "aggregate": 1}
			if diff := gocmp.Diff(want, finished(t, out)); diff != "" {
				t.Errorf("steps that ran (-want +got):\n%s", diff)
			}
			if !strings.Contains(again, "Nothing to do") {
				t.Errorf("applied again:\n%s", again)
			}
		})
	}
	for _, name := range []string{"lite", "medium", "high"} {
		t.Run(name, func(t *testing.T) {
			out, _ := applySet(t, shared, name, raw)
			if diff := gocmp.Diff(map[string]int{"aggregate": 1}, finished(t, out)); diff != "" {
				t.Errorf("steps that ran after the pipeline of all (-want +got):\n%s", diff)
			}
		})
	}
}

// setOf names the set of a pipeline where it has another name.
var setOf = map[string]competitions.Set{"full": "all"}

// unsampled have no sample submission that agents see, so that the dummy agent
// submits nothing.
var unsampled = []string{"billion-word-imputation"}

// competitionsOf returns the competitions that a pipeline is about.
func competitionsOf(t *testing.T, pipeline string) []string {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := catalog.Set(cmp.Or(setOf[pipeline], competitions.Set(pipeline)))
	if err != nil || len(ids) == 0 {
		t.Fatalf("set of %s: %v, %v", pipeline, ids, err)
	}
	return ids
}

// valid is the end of a competition's row with a valid submission; one has the
// score NaN, since its sample submission is constant.
var valid = regexp.MustCompile(`(?m) 1/1( +(-|1 NaN))?$`)

// applySet applies a pipeline twice, first with the events as output, and
// checks that the competitions have valid submissions.
func applySet(t *testing.T, cache, name, raw string) (events, again string) {
	t.Helper()
	p := &place{t: t, cache: cache, file: pipelines + name + ".hcl"}
	args := []string{"apply", p.file, "-var", "raw=" + raw, "-var", "seeds=1", "-var", "timeout=1h", "-var", "on_mismatch=warn", "-var", "task=own",
		"-var", goldenParams(t), "-var", "cpus=1", "-var", "memory=256MiB"}
	events, errs, code := p.run(append(args, "--json")...)
	if code != 0 {
		t.Fatalf("exit status %d\n%s\n%s", code, events, errs)
	}
	table := leaderboard(p)
	if last := strings.LastIndex(table, "\nagent "); last >= 0 { // a wide table is in parts; the last has the column
		table = table[last:]
	}
	ids := slices.DeleteFunc(competitionsOf(t, name), func(id string) bool { return slices.Contains(unsampled, id) })
	// The board is wrapped: the last part has the competitions' valid submissions.
	if got := len(valid.FindAllString(table[strings.LastIndex(table, "agent  competition"):], -1)); got != len(ids) {
		t.Errorf("%d valid submissions, want %d:\n%s", got, len(ids), table)
	}
	out, errs, _ := p.run(args...)
	return events, out + errs
}

// TestSetsExtend plans the pipeline of each set: it is what mlebench.hcl is with
// the variables of that set, to the keys, and has the steps of its competitions.
func TestSetsExtend(t *testing.T) {
	for name, vars := range map[string][]string{
		"lite":   {"set=low", "title=MLE-bench Lite"},
		"medium": {"set=medium", "title=MLE-bench, medium complexity"},
		"high":   {"set=high", "title=MLE-bench, high complexity"},
		"full":   {},
		"dev":    {"set=dev", "title=Development set", "seeds=1", "timeout=1h"},
	} {
		t.Run(name, func(t *testing.T) {
			var of []string
			for _, v := range vars {
				of = append(of, "-var", v)
			}
			got, want := planned(t, name), planned(t, "mlebench", of...)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("steps and keys (-mlebench.hcl +%s.hcl):\n%s", name, diff)
			}
			seeds := 3
			if name == "dev" {
				seeds = 1
			}
			if n := len(competitionsOf(t, name)); len(got) != n*(5+2*seeds)+1 {
				t.Errorf("%d steps of %d competitions", len(got), n)
			}
		})
	}
}

// planned returns the keys of the steps of a pipeline, by address.
func planned(t *testing.T, name string, args ...string) map[string]string {
	t.Helper()
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: pipelines + name + ".hcl"}
	out, errs, code := p.run(append([]string{"plan", p.file, "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit status %d\n%s", code, errs)
	}
	var plan struct {
		Steps []struct {
			Address string
			Key     string `json:"action_id"`
		}
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, s := range plan.Steps {
		keys[s.Address] = s.Key
	}
	return keys
}

// TestSetsCompare applies the development set with two agents: they are
// compared, and the leaderboard says what they took.
func TestSetsCompare(t *testing.T) {
	t.Parallel()
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: pipelines + "dev.hcl"}
	out, errs, code := p.run("apply", p.file, "-var", "raw="+goldenRaw(t, competitionsOf(t, "dev")...), "-var", "on_mismatch=warn", "-var", "task=own", "-var", "usage=true",
		"-var", `against=["baseline"]`, "-var", "cpus=1", "-var", "memory=256MiB", "--json")
	if code != 0 {
		t.Fatalf("exit status %d\n%s\n%s", code, out, errs)
	}
	table := leaderboard(p)
	for _, want := range []string{"dummy and baseline, 7 and 7 runs at 7 competitions", "validations"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in the leaderboard:\n%s", want, table)
		}
	}
}

// finished counts the steps of each kind that ran to their end.
func finished(t *testing.T, events string) map[string]int {
	t.Helper()
	got := map[string]int{}
	for text := range strings.Lines(events) {
		if l := decode(t, []byte(text)); l.Type == "step_finished" && l.Status == "ran" {
			got[l.Kind]++
		}
	}
	return got
}

// leaderboard returns the last run's leaderboards with all their tables.
func leaderboard(p *place) string {
	p.t.Helper()
	out, errs, code := p.run("show", "latest", "--full")
	_, board, ok := strings.Cut(out, "\nleaderboard")
	if code != 0 || !ok {
		p.t.Fatalf("exit status %d\n%s\n%s", code, out, errs)
	}
	return board
}
