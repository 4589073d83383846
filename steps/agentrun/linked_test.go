package agentrun

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
)

// A relative link to a file of the submission's folder is a submission, for the
// harvest and for who looks while the agent runs; any other link is none.
func TestLinkedSubmission(t *testing.T) {
	link := func(target string) func(string) error {
		return func(dir string) error { return os.Symlink(target, filepath.Join(dir, "submission.csv")) }
	}
	absolute := t.TempDir()
	for _, tt := range []struct {
		name string
		make func(dir string) error
		want bool
	}{
		{"a file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "submission.csv"), []byte("best\n"), 0o644)
		}, true},
		{"a file beside it", link("best.csv"), true},
		{"a file below", link("./runs/7.csv"), true},
		{"a link to one", link("latest"), true},
		{"through a folder that is a link", link("last/7.csv"), true},
		{"out of the folder and back", link("../submission/best.csv"), false},
		{"another folder of the agent's", link("../code/best.csv"), false},
		{"out by a link", link("out/best.csv"), false},
		{"absolute", link(absolute), false},
		{"of the kernel's", link("/proc/self/environ"), false},
		{"of the process's descriptors", link("/proc/self/fd/0"), false},
		{"a loop", link("submission.csv"), false},
		{"nothing", link("missing"), false},
		{"a folder", link("runs"), false},
		{"a pipe", link("pipe"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, "submission")
			for _, name := range []string{"submission/runs", "code"} {
				must(t, os.MkdirAll(filepath.Join(home, name), 0o755))
			}
			for _, name := range []string{"submission/best.csv", "submission/runs/7.csv", "code/best.csv"} {
				must(t, os.WriteFile(filepath.Join(home, name), []byte("best\n"), 0o644))
			}
			must(t, os.Symlink("best.csv", filepath.Join(dir, "latest")))
			must(t, os.Symlink("runs", filepath.Join(dir, "last")))
			must(t, os.Symlink("../code", filepath.Join(dir, "out")))
			must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
			must(t, tt.make(dir))
			root, err := os.OpenRoot(home)
			must(t, err)
			defer root.Close()
			f, _, err := layout{home: home}.openSubmission()
			if err != nil || (f != nil) != tt.want {
				t.Fatalf("opened %v, %v; want one: %v", f, err, tt.want)
			}
			if f != nil {
				if text, err := io.ReadAll(f); string(text) != "best\n" {
					t.Errorf("it holds %q, %v", text, err)
				}
				f.Close()
			}
			h, has := harvestOf(t, root, submissionCaps)
			if has["submission.csv"] != tt.want {
				t.Errorf("harvested %v; left out %q", has, h.notes)
			}
			if has["latest"] {
				t.Error("another link was followed")
			}
		})
	}
}

// What is taken of many files is bounded, in number and in time, and what is left out
// is not looked at.
func TestManyFiles(t *testing.T) {
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, "submission/sub"), 0o755))
	for _, name := range []string{"a", "b", "c", "d", "submission.csv", "sub/x", "sub/y"} {
		must(t, os.WriteFile(filepath.Join(home, "submission", name), []byte(name), 0o644))
	}
	root, err := os.OpenRoot(home)
	must(t, err)
	defer root.Close()
	h, has := harvestOf(t, root, caps{bytes: 100, entries: 3, depth: 9})
	if len(has) != 3 || !has["submission.csv"] || len(h.notes) != 1 {
		t.Errorf("harvested %v, left out %q", has, h.notes)
	}
	slow := &harvester{began: time.Unix(0, 0), files: hurriedFiles}
	if _, has = harvestWith(t, slow, root, submissionCaps); len(has) != 1 || !has["submission.csv"] || len(slow.notes) != 1 {
		t.Errorf("in no time: harvested %v, left out %q", has, slow.notes)
	}
	few := &harvester{began: time.Unix(0, 0)}
	if _, has = harvestWith(t, few, root, submissionCaps); len(has) != 7 || len(few.notes) != 0 {
		t.Errorf("few files on a slow disk: harvested %v, left out %q", has, few.notes)
	}
}

func harvestOf(t *testing.T, home *os.Root, c caps) (*harvester, map[string]bool) {
	return harvestWith(t, &harvester{}, home, c)
}

func harvestWith(t *testing.T, h *harvester, home *os.Root, c caps) (*harvester, map[string]bool) {
	t.Helper()
	h.store, h.mask, h.budget, h.taken = memory.New(), secret.New(), 1<<20, func(int64) {}
	var b tree.Builder
	has, err := h.harvest(t.Context(), home, kept{name: "submission", first: "submission.csv", caps: c}, &b)
	must(t, err)
	return h, has
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
