package slurm

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

func TestGPUs(t *testing.T) {
	for _, c := range []struct {
		gres, list string
		want       int
	}{
		{"gpu", "(null)", 0},
		{"gpu", "gpu:2", 2},
		{"gpu", "gpu:a100:4(S:0-1)", 4},
		{"gpu", "gpu:a100:1(IDX:0,3),gpu:h100:2(IDX:4-5),mps:100", 3},
		{"gpu:h100", "gpu:a100:1(IDX:0,3),gpu:h100:2(IDX:4-5)", 2},
		{"gpu:h100", "gpu:h100x:2", 0},
		{"gpu", "gpu:0", 0},
		{"gpu", "gpus:7", 0},
	} {
		b := &Backend{settings: settings{Config: Config{GRES: c.gres}}}
		if got := b.gpus(c.list); got != c.want {
			t.Errorf("%s in %q: %d, want %d", c.gres, c.list, got, c.want)
		}
	}
}

func TestNode(t *testing.T) {
	b := &Backend{settings: settings{Config: Config{GRES: "gpu"}}}
	n, of, err := b.node("n1|3/5/0/8|16000|4000|gpu:a100:2|gpu:a100:1(IDX:0)|mixed|200000|main*|1-02:00:00|a100,big|")
	want := cluster.Node{
		Name: "n1", Ready: true,
		Has:     cluster.Needs{CPUs: 8, MemoryBytes: 16000 << 20, GPUs: 2, DiskBytes: 200000 << 20},
		Free:    cluster.Needs{CPUs: 5, MemoryBytes: 12000 << 20, GPUs: 1, DiskBytes: 200000 << 20},
		MaxTime: 26 * time.Hour,
	}
	if err != nil || n != want || of.partition != "main*" || len(of.features) != 2 {
		t.Errorf("%v\n%+v\n%+v", err, n, want)
	}
	for _, state := range []string{"down", "down*", "drained", "draining", "unknown", "maint"} {
		if n, _, err := b.node("n1|0/8/0/8|1|0|(null)|(null)|" + state + "|0|main*|infinite|(null)|"); err != nil || n.Ready {
			t.Errorf("%s: %v %+v", state, err, n)
		}
	}
	for _, line := range []string{"", "n1", "n1|8|16000|0|||idle|0|"} {
		if _, _, err := b.node(line); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

// TestNodes reads what sinfo 22.05 prints for four nodes in two partitions, the first of
// them the default one.
func TestNodes(t *testing.T) {
	const printed = `n1                  |0/8/0/8             |16000               |0                   |(null)              |gpu:0               |idle                |0                   |short*              |1:00:00             |old                 |
n1                  |0/8/0/8             |16000               |0                   |(null)              |gpu:0               |idle                |0                   |long                |2-00:00:00          |old                 |
n2                  |0/8/0/8             |16000               |0                   |(null)              |gpu:0               |idle                |0                   |short*              |1:00:00             |new,fast            |
n3                  |0/8/0/8             |16000               |0                   |(null)              |gpu:0               |idle                |0                   |long                |infinite            |new                 |
`
	for _, c := range []struct {
		name   string
		config Config
		want   map[string]time.Duration
	}{
		{"default", Config{}, map[string]time.Duration{"n1": time.Hour, "n2": time.Hour}},
		{"all", Config{Partition: "short,long"}, map[string]time.Duration{"n1": 48 * time.Hour, "n2": time.Hour, "n3": 0}},
		{"excluded", Config{Exclude: "n1"}, map[string]time.Duration{"n2": time.Hour}},
		{"constraint", Config{Partition: "short,long", Constraint: "new&fast|old"}, map[string]time.Duration{"n1": 48 * time.Hour, "n2": time.Hour}},
		{"not read", Config{Partition: "short,long", Constraint: "[old|new]"}, map[string]time.Duration{"n1": 48 * time.Hour, "n2": time.Hour, "n3": 0}},
	} {
		b := &Backend{settings: settings{Config: c.config}}
		nodes, err := b.nodes(printed, strings.Fields(c.config.Exclude))
		got := map[string]time.Duration{}
		for _, n := range nodes {
			got[n.Name] = n.MaxTime
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v %v, want %v", c.name, err, got, c.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"infinite": 0, "1:00:00": time.Hour, "30:00": 30 * time.Minute, "7-00:00:00": 168 * time.Hour, "1-12:30:15": 36*time.Hour + 30*time.Minute + 15*time.Second,
	} {
		if got := span(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestNewest: of several entries of one name, the one that runs counts, then the
// one that waits, then the newest.
func TestNewest(t *testing.T) {
	at := func(id, state string) entry { return entry{id: id, state: state} }
	for _, c := range []struct{ first, second entry }{
		{at("9", "RUNNING"), at("10", "PENDING")},
		{at("9", "PENDING"), at("10", "FAILED")},
		{at("10", "FAILED"), at("9", "COMPLETED")},
	} {
		if !c.first.before(c.second) || c.second.before(c.first) {
			t.Errorf("%+v does not come before %+v", c.first, c.second)
		}
	}
}

// TestScript runs the batch script of a job with a shell: hostile values stay
// values, and the statuses are those of the worker.
func TestScript(t *testing.T) {
	dir := t.TempDir()
	worker := filepath.Join(dir, "it's a worker")
	text := "#!/bin/sh\nprintf '%s|' \"$@\" \"$X\" \"$KEY\" \"$MLEFLOW_CACHE_DIR\" \"$MLEFLOW_NODE\" >" + quote(filepath.Join(dir, "out")) + "\nexit 3\n"
	secrets := filepath.Join(dir, "secrets.env")
	hostile := "'; touch " + filepath.Join(dir, "owned") + "; $(touch " + filepath.Join(dir, "owned") + ") `touch " + filepath.Join(dir, "owned") + "` \\ \""
	if err := os.WriteFile(worker, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secrets, []byte("KEY=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := settings{Config: Config{Folder: dir, Binary: worker, EnvFile: secrets, CacheDir: "/local/$SLURM_JOB_ID/" + hostile}}
	job := cluster.Job{Name: "mleflow-x", Args: []string{"worker", hostile}, Env: map[string]string{"X": hostile}, Grace: time.Second}
	cmd := exec.Command("sh", "-c", s.script(job))
	cmd.Env = append(os.Environ(), "SLURM_JOB_ID=7", "SLURMD_NODENAME=n1")
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("exit status %v, want 3", err)
	}
	out, _ := os.ReadFile(filepath.Join(dir, "out"))
	if want := "worker|" + hostile + "|" + hostile + "|secret|/local/7/" + hostile + "|n1|"; string(out) != want {
		t.Errorf("the worker got\n%s\nwant\n%s", out, want)
	}
	if status, _ := os.ReadFile(s.path("mleflow-x", "exit")); strings.TrimSpace(string(status)) != "3" {
		t.Errorf("the file has status %q", status)
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("a value was run as a command")
	}
}

func TestSettle(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sbatch"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if s, err := settle(Config{}); err != nil || s.GRES != "gpu" || s.sticky != 2*time.Minute || s.Folder == "" {
		t.Errorf("%v %+v", err, s)
	}
	for part, c := range map[string]Config{
		"folder": {Folder: "jobs"}, "binary": {Binary: "mleflow"}, "env_file": {EnvFile: "x"}, "sticky": {Sticky: "soon"},
		"--partition": {Options: []string{"--nice=1", "--partition=x"}}, "poll": {Poll: "1ms"}, "environment variable": {Env: map[string]string{"A B": "x"}},
	} {
		if _, err := settle(c); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := settle(Config{}); err == nil || !strings.Contains(err.Error(), "sbatch") {
		t.Errorf("without sbatch: %v", err)
	}
}
