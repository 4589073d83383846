package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/archive"
)

const (
	pipelines = "../../../../pipelines/"
	golden    = "../../../../competitions/testdata/golden/"
)

// goldenParams are the sizes that the golden cases scale down.
const goldenParams = `params={ "tabular-playground-series-may-2022" = { test_size = "67" } }`

// goldenCases unpacks the golden cases as DIR/<id>/ and returns their ids.
func goldenCases(t *testing.T, dir string) (ids []string) {
	t.Helper()
	cases, err := filepath.Glob(golden + "*.tar.zst")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no golden cases (%v)", err)
	}
	for _, path := range cases {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		src := archive.Source{ReaderAt: f, Size: info.Size()}
		if err := archive.Unpack(context.Background(), src, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
			t.Fatal(err)
		}
		f.Close()
		ids = append(ids, strings.TrimSuffix(filepath.Base(path), ".tar.zst"))
	}
	return ids
}

// goldenRaw lays the raw data of the golden cases out as downloads are:
// DIR/<id>/.
func goldenRaw(t *testing.T) string {
	t.Helper()
	dir, raw := t.TempDir(), t.TempDir()
	for _, id := range goldenCases(t, dir) {
		if err := os.Rename(filepath.Join(dir, id, "raw"), filepath.Join(raw, id)); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// TestSets applies the pipelines of the development set and of Lite on
// miniature raw data: every competition is fetched from a local folder,
// prepared, compared with its pins (which warns: they hold for the full data),
// solved by the dummy agent, graded and aggregated. A second time there is
// nothing to do.
func TestSets(t *testing.T) {
	raw := goldenRaw(t)
	for name, competitions := range map[string]int{"dev": 7, "lite": 22} {
		t.Run(name, func(t *testing.T) {
			p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: pipelines + name + ".hcl"}
			args := []string{"apply", p.file, "-var", "raw=" + raw, "-var", "seeds=1", "-var", "on_mismatch=warn", "-var", goldenParams,
				"-var", "cpus=1", "-var", "memory=256MiB"}
			out, errs, code := p.run(append(args, "--json")...)
			if code != 0 {
				t.Fatalf("exit status %d\n%s\n%s", code, out, errs)
			}
			want := map[string]int{"download": competitions, "prepare": competitions, "checksum": competitions,
				"agent-run": competitions, "grade": competitions, "aggregate": 1}
			if diff := cmp.Diff(want, finished(t, out)); diff != "" {
				t.Errorf("steps that ran (-want +got):\n%s", diff)
			}
			table := leaderboard(t, out)
			if got := strings.Count(table, "1/1"); got != competitions {
				t.Errorf("%d valid submissions, want %d:\n%s", got, competitions, table)
			}
			if out, errs, _ := p.run(args...); !strings.Contains(out+errs, "Nothing to do") {
				t.Errorf("applied again:\n%s%s", out, errs)
			}
		})
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

// leaderboard returns the pipeline's output.
func leaderboard(t *testing.T, events string) string {
	t.Helper()
	for text := range strings.Lines(events) {
		if l := decode(t, []byte(text)); l.Type == "output" {
			var table string
			if json.Unmarshal([]byte(l.Value), &table) == nil {
				return table
			}
			return l.Value
		}
	}
	t.Fatal("no output")
	return ""
}
