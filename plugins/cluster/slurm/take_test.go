package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// TestTake runs the batch script of a job with a shell, beside the offers of two others:
// it goes on with the one that asks for the same, whose hostile address and argument stay
// values, and leaves the other.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"worker": "printf '%s|' \"$@\" >>" + quote(in("out")), "scontrol": "printf '%s|' \"$@\" >>" + quote(in("calls")), "scancel": "printf '%s|' scancel \"$@\" >>" + quote(in("calls")),
	} {
		if err := os.WriteFile(in(name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hostile := "'; touch " + in("owned") + "; $(touch " + in("owned") + ") `touch " + in("owned") + "`\n\\ \""
	s := settings{Config: Config{Folder: dir, Binary: in("worker")}, stay: time.Minute}
	job := func(name, arg string, cpus float64) cluster.Job {
		return cluster.Job{Name: "mleflow-" + name, Address: hostile, Args: []string{"worker", arg}, Needs: cluster.Needs{CPUs: cpus}, Grace: time.Second, Stay: time.Hour}
	}
	for id, other := range map[string]cluster.Job{"12": job("same", hostile, 1), "13": job("larger", "c", 2)} {
		if err := s.offer(other, id); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", s.script(job("first", "a", 1)))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_JOB_ID=7", "SLURMD_NODENAME=n1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, _ := os.ReadFile(in("out")); string(out) != "worker|a|worker|"+hostile+"|" {
		t.Errorf("the workers got %q", out)
	}
	// The name comes before the dependency, which would otherwise hold nothing back.
	want := "update|JobId=7|JobName=mleflow-same|Comment=" + hostile + "|Requeue=0|update|JobId=12|Dependency=singleton|scancel|--state=PENDING|12|"
	if calls, _ := os.ReadFile(in("calls")); string(calls) != want {
		t.Errorf("Slurm was asked %q, want %q", calls, want)
	}
	for name, want := range map[string]string{"first.exit": "0", "same.exit": "0", "larger.exit": "", "larger.taken": ""} {
		if text, _ := os.ReadFile(in("mleflow-" + name)); strings.TrimSpace(string(text)) != want {
			t.Errorf("%s has %q, want %q", name, text, want)
		}
	}
	if _, err := os.Stat(in("owned")); err == nil {
		t.Error("a value was run as a command")
	}
}

// TestTakeOnlyOwn offers jobs that are not taken: by a link, in a folder that others may
// write, and in one that is put in the place of this user's while that is examined. No job
// is started in a folder of others either.
func TestTakeOnlyOwn(t *testing.T) {
	dir, tools, other := filepath.Join(t.TempDir(), "jobs"), t.TempDir(), filepath.Join(t.TempDir(), "evil")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(tools, "ran")
	if err := os.WriteFile(other, []byte("touch "+ran+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := settings{Config: Config{Folder: dir, Binary: "true"}, stay: time.Minute}
	job := cluster.Job{Name: "mleflow-first", Grace: time.Second, Stay: time.Hour}
	offer := s.path("mleflow-next", "next-"+s.shape(job))
	for _, how := range []struct {
		name string
		mode os.FileMode
		make func() error
	}{
		{"a link", 0o700, func() error { return os.Symlink(other, offer) }},
		{"another folder", 0o700, func() error {
			swap := "#!/bin/sh\nmv " + dir + " " + dir + ".old; mkdir -m 700 " + dir + "; echo 'touch " + ran + "' >" + offer + "\n"
			return os.WriteFile(filepath.Join(tools, "find"), []byte(swap), 0o700)
		}},
		{"a folder of others", 0o777, func() error { return os.WriteFile(offer, []byte("touch "+ran+"\n"), 0o600) }},
	} {
		_ = os.Remove(offer)
		if err := how.make(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, how.mode); err != nil { // not affected by the umask
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", s.script(job))
		cmd.Env = append(os.Environ(), "SLURM_JOB_ID=7", "PATH="+tools+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_ = os.Remove(filepath.Join(tools, "find"))
		if _, err := os.Lstat(ran); err == nil {
			t.Errorf("%s was run", how.name)
		}
	}
	b := &Backend{settings: s}
	if err := b.Start(t.Context(), job); err == nil || !strings.Contains(err.Error(), "can be written by other users") {
		t.Errorf("a job in a folder of others: %v", err)
	}
}
