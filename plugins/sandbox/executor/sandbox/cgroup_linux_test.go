package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// TestGroup writes limits into folders that look like control groups of version 2.
func TestGroup(t *testing.T) {
	root := t.TempDir()
	user := filepath.Join(root, "user.slice", "user@1000.service")
	own := filepath.Join(user, "app.slice", "shell.scope")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dir, given := range map[string]string{root: "memory pids\n", user: "cpu memory pids\n", filepath.Join(user, "app.slice"): "pids\n", own: "\n"} {
		write(filepath.Join(dir, "cgroup.subtree_control"), given)
		write(filepath.Join(dir, "cgroup.procs"), "")
	}
	at := delegated(root, "/user.slice/user@1000.service/app.slice/shell.scope")
	if at != user {
		t.Fatalf("delegated at %q, want %q", at, user)
	}
	g, err := newGroup(at, "abc", executor.Limits{MemoryBytes: 1 << 20, Processes: 10, CPUs: 1.5})
	if err != nil || !g.has("cpu") || g.has("io") {
		t.Fatalf("%+v, %v", g, err)
	}
	for name, want := range map[string]string{"memory.max": "1048576", "pids.max": "26", "cpu.max": "150000 100000"} {
		if got, err := os.ReadFile(filepath.Join(g.dir, name)); string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	write(filepath.Join(g.dir, "memory.peak"), "4096\n")
	write(filepath.Join(g.dir, "memory.events"), "low 0\noom 3\noom_kill 2\n")
	if peak, kills := g.number("memory.peak", ""), g.number("memory.events", "oom_kill"); peak != 4096 || kills != 2 {
		t.Errorf("peak %d, kills %d", peak, kills)
	}
	if got := delegated(root, "/elsewhere"); got != root {
		t.Errorf("delegated at %q, want %q", got, root)
	}
	if none, err := newGroup("", "abc", executor.Limits{}); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// TestProcessors shares the machine's processors out among runs.
func TestProcessors(t *testing.T) {
	dir := t.TempDir()
	first, locks := processors(dir, 1)
	if len(first) == 0 {
		t.Skip("this machine has one processor")
	}
	second, more := processors(dir, 0.5)
	if len(second) == 1 && first[0] == second[0] {
		t.Errorf("both have %v", first)
	}
	closeAll(locks)
	closeAll(more)
	if all, _ := processors(dir, 1e6); all != nil {
		t.Errorf("more than there are: %v", all)
	}
}

// TestUserIDs: runs at the same time have different users, and an id is free again
// when its run has ended.
func TestUserIDs(t *testing.T) {
	dir, ids := t.TempDir(), idRange{100, 3}
	taken := map[int]*os.File{}
	for range ids.size {
		id, lock, err := ids.take(dir)
		if err != nil || taken[id] != nil || id < 100 || id > 102 {
			t.Fatalf("%d, %v, besides %v", id, err, taken)
		}
		taken[id] = lock
	}
	if id, _, err := ids.take(dir); err == nil {
		t.Errorf("a fourth id: %d", id)
	}
	taken[101].Close()
	if id, lock, err := ids.take(dir); err != nil || id != 101 {
		t.Errorf("%d, %v, want the one that is free again", id, err)
	} else {
		lock.Close()
	}
	taken[100].Close()
	taken[102].Close()
}
