package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
)

// referenceVariable names a checkout of the reference's repository at
// competitions.ReferenceCommit.
const referenceVariable = "MLEFLOW_REFERENCE"

// forms are the tasks with texts of the reference.
var forms = []competitions.Task{competitions.TaskReference, competitions.TaskObfuscated}

// seeing is a pipeline whose agent keeps what it was told, at every competition
// under every task.
func seeing(ids []string, head, agent string) string {
	return head + fmt.Sprintf(`
locals {
  runs = { for r in setproduct(%s, ["reference", "obfuscated"]) : "${r[0]}/${r[1]}" => { competition = r[0], task = r[1] } }
}
step "exec" "data" {
  command = ["sh", "-c", "echo id,x >sample_submission.csv; echo old >description.md"]
  outputs = ["sample_submission.csv", "description.md"]
}
agent "reader" { %s }
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = agent.reader
  competition = each.value.competition
  task        = each.value.task
  data        = step.exec.data.tree
}
`, quoted(ids), agent)
}

func quoted(ids []string) string { return `["` + strings.Join(ids, `", "`) + `"]` }

// TestTextsOfTheReference gives an agent the texts of all 82 competitions in
// both forms, twice from nothing: from a mirror on the web, and from an adopted
// checkout. What it reads in its sandbox must hash to the pins. It needs a
// checkout of the reference:
//
//	MLEFLOW_REFERENCE=/path/to/mle-bench go test ./cmd/mleflow/internal/dev/e2e -run TextsOfTheReference
func TestTextsOfTheReference(t *testing.T) {
	want := pinnedTexts(t)
	checkout := os.Getenv(referenceVariable)
	if checkout == "" {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			t.Run(name, func(t *testing.T) {
				t.Skip("compares with the reference's own texts; name a checkout in " + referenceVariable)
			})
		}
		return
	}
	server := httptest.NewServer(http.FileServer(http.Dir(checkout)))
	defer server.Close()
	var ids []string
	for name := range want {
		id, _, _ := strings.Cut(name, "/")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) != 82 || len(want) != 164 {
		t.Fatalf("%d competitions, %d texts", len(ids), len(want))
	}
	src := seeing(ids, "", `command = ["sh", "-c", "cp $DATA_DIR/description.md $INSTRUCTIONS_FILE $CODE_DIR"]`)
	for way, flags := range map[string][]string{"mirror": {"--mirror", server.URL}, "checkout": {"--adopt", checkout}} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			p := &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "texts.hcl")}
			if err := os.WriteFile(p.file, []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := p.run(append([]string{"apply", p.file, "--json"}, flags...)...)
			if code != 0 {
				t.Fatalf("exit %d\n%.4000s", code, stderr)
			}
			seen := seenTexts(t, p.cache, stdout)
			right := map[string]int{}
			for name, pins := range want {
				_, form, _ := strings.Cut(name, "/")
				t.Run(name, func(t *testing.T) {
					if seen[name] != pins {
						t.Errorf("the agent read %v, the pins are %v", seen[name], pins)
						return
					}
					right[form]++
				})
			}
			t.Logf("%d of 82 originals and %d of 82 obfuscated texts are what the pins say", right["reference"], right["obfuscated"])
		})
	}
}

// pinnedTexts returns the digests of description and instructions by
// "competition/task".
func pinnedTexts(t *testing.T) map[string][2]string {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	pins := map[string][2]string{}
	for _, id := range catalog.IDs() {
		def, err := catalog.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range forms {
			if texts, err := competitions.Reference().Texts(def, form); err == nil {
				pins[id+"/"+string(form)] = [2]string{texts.Description.SHA256, texts.Instructions.SHA256}
			}
		}
	}
	return pins
}

// seenTexts returns the digests of what agents kept, by the key of their step.
func seenTexts(t *testing.T, dir, events string) map[string][2]string {
	t.Helper()
	store, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	seen := map[string][2]string{}
	for text := range strings.Lines(events) {
		l := decode(t, []byte(text))
		if l.Type != "step_finished" || l.Kind != "agent-run" {
			continue
		}
		id, err := digest.ParseContentID(strings.TrimPrefix(l.Outputs["code"], "tree:"))
		if err != nil {
			t.Fatalf("%s: code %q: %v", l.Address, l.Outputs["code"], err)
		}
		_, key, _ := strings.Cut(l.Address, `["`)
		seen[strings.TrimSuffix(key, `"]`)] = [2]string{fileDigest(t, store, id, "description.md"), fileDigest(t, store, id, "instructions.txt")}
	}
	return seen
}

func fileDigest(t *testing.T, store cache.Store, id digest.ContentID, name string) string {
	t.Helper()
	entry, err := tree.Find(context.Background(), store, cache.Ref{Kind: cache.Tree, ID: id}, name)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return ""
	}
	return entry.Ref().ID.String()
}

// TestPrepareDescribes prepares data as the reference lays them out: with its
// description where that can be had, which no verification minds, else with a
// word that it is not there.
func TestPrepareDescribes(t *testing.T) {
	const id = "leaf-classification"
	dir := t.TempDir()
	p := &place{t: t, cache: filepath.Join(dir, "cache")}
	prepare := func(flags ...string) (string, string) {
		t.Helper()
		data := filepath.Join(t.TempDir(), "data")
		args := append([]string{"prepare", "-c", id, "--raw", filepath.Join(goldenRaw(t, id), id), "--data-dir", data, "--skip-verification"}, flags...)
		_, stderr, code := p.run(args...)
		if code != 0 {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		return filepath.Join(data, id, "prepared", "public", "description.md"), stderr
	}
	if file, stderr := prepare("--offline"); !strings.Contains(stderr, "Without description.md") {
		t.Errorf("%s is missing and nothing says so:\n%s", file, stderr)
	} else if _, err := os.Stat(file); err == nil {
		t.Errorf("%s is there", file)
	}
	wrong := filepath.Join(dir, "wrong", "mlebench", "competitions", id)
	if err := os.MkdirAll(wrong, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(wrong, "description.md"), []byte("# Leaf\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := p.run("prepare", "-c", id, "--raw", filepath.Join(goldenRaw(t, id), id), "--data-dir", filepath.Join(dir, "data"), "--skip-verification", "--mirror", filepath.Join(dir, "wrong"))
	if code != 3 || !strings.Contains(stderr, pinnedTexts(t)[id+"/reference"][0]) {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	checkout := os.Getenv(referenceVariable)
	if checkout == "" {
		t.Skip("the rest compares with the reference's own text; name a checkout in " + referenceVariable)
	}
	file, stderr := prepare("--mirror", checkout)
	text, err := os.ReadFile(file)
	if err != nil || digest.Of(text).String() != pinnedTexts(t)[id+"/reference"][0] || strings.Contains(stderr, "Without") {
		t.Errorf("%v: %d bytes\n%s", err, len(text), stderr)
	}
}
