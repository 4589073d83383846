package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lost returns for how long the agent worked in vain, and the most steps of one loss.
func (l *lives) lost(kept []string) (total time.Duration, worst int) {
	for _, seen := range l.seen {
		gone := slices.DeleteFunc(seen, func(line string) bool { return slices.Contains(kept, line) })
		total += span(gone)
		worst = max(worst, len(gone))
	}
	return total, worst
}

var (
	checkpointTaken = regexp.MustCompile(`checkpoint (\d+) after`)
	goesOnFrom      = regexp.MustCompile(`goes on from checkpoint (\d+)`)
)

// lastCheckpoint returns the number of the last checkpoint that the logs of a place name.
// On another node, the last ones may not have arrived.
func (l *lives) lastCheckpoint(p *place) (last int) {
	logs, _ := filepath.Glob(filepath.Join(p.cache, "runs", "*", "logs", "*"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		for _, found := range checkpointTaken.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(found[1]))
			last = max(last, n)
		}
	}
	return last
}

// wentOnFrom returns the number of the checkpoint from which the attempt went on, or 0.
func (l *lives) wentOnFrom(events string) (n int) {
	if found := goesOnFrom.FindStringSubmatch(events); found != nil {
		n, _ = strconv.Atoi(found[1])
	}
	return n
}

// span is the time that the lines of a journal span, without that between two lives.
func span(lines []string) (total time.Duration) {
	was, last := "", 0.0
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		at, _ := strconv.ParseFloat(f[2], 64)
		if f[1] == was {
			total += time.Duration((at - last) * float64(time.Second))
		}
		was, last = f[1], at
	}
	return total
}

// checkMade checks what agents make that end: the same as undisturbed ones.
func (l *lives) checkMade(code string, wall time.Duration) {
	l.t.Helper()
	var result, answers strings.Builder
	weight := 0
	for n := range 60 {
		fmt.Fprintln(&result, n)
		fmt.Fprintf(&answers, "You said: number %d\n", n)
		weight = (31*weight + n) % 1000003
	}
	want := map[string]string{"result": result.String()}
	switch l.agent {
	case "writing":
		want["large"] = fmt.Sprintf("%x  -\n", sha256.Sum256([]byte(strings.Repeat("9", 4000000))))
	case "trained":
		want["weight"] = strconv.Itoa(weight)
	case "asking":
		want["answers"] = answers.String()
	}
	for name, text := range want {
		if got, err := os.ReadFile(newest(code, name)); err != nil || string(got) != text {
			l.t.Errorf("%s: %v\n%q", name, err, got)
		}
	}
	if wall < 6*time.Second {
		l.t.Errorf("the attempt used %v", wall)
	}
}

// plug mounts a disk, which can lose its power.
func (l *lives) plug() {
	l.t.Helper()
	image := filepath.Join(l.dir, "disk0")
	l.must("truncate", "-s", "2G", image)
	l.must("mkfs.ext4", "-q", image)
	l.must("mkdir", filepath.Join(l.dir, "disk"))
	l.mount(image)
}

func (l *lives) mount(image string) {
	l.t.Helper()
	l.must("mount", "-o", "loop", image, filepath.Join(l.dir, "disk"))
}

// cut takes the power from the disk, so that nothing more is written to it, and mounts a
// copy: other processes may still hold the first one. What was only in memory is gone;
// the journal of the file system is not.
func (l *lives) cut() {
	l.t.Helper()
	at, image := filepath.Join(l.dir, "disk"), filepath.Join(l.dir, "disk"+strconv.Itoa(l.n))
	dir, err := os.Open(at)
	if err == nil {
		const shutDown, withoutLog = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
		err = unix.IoctlSetPointerInt(int(dir.Fd()), shutDown, withoutLog)
		_ = dir.Close()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.must("umount", "-l", at)
	l.must("cp", "--sparse=always", filepath.Join(l.dir, "disk"+strconv.Itoa(l.n-1)), image)
	l.mount(image)
	l.boot(at)
}

// boot gives files that say in which boot they were written another boot.
func (l *lives) boot(dir string) {
	l.t.Helper()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		l.t.Fatal(err)
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{"sync", "state.json", "run.json", "info"}, d.Name()) {
			return nil //nolint:nilerr // it is looked at as far as it goes
		}
		text, _ := os.ReadFile(path)
		other := strings.ReplaceAll(string(text), strings.TrimSpace(string(id)), "an-earlier-boot")
		return os.WriteFile(path, []byte(other), 0o600)
	})
}

// unmount unmounts everything below a folder: disks, and what lost nodes left.
func unmount(dir string) {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], dir+"/") {
			_ = unix.Unmount(f[1], unix.MNT_DETACH)
		}
	}
}

func (l *lives) must(name string, args ...string) {
	l.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// newest returns the path of the file with a name that was written to last, or "".
func newest(dir, name string) (found string) {
	var last time.Time
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != name {
			return nil //nolint:nilerr // files come and go
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().After(last) {
			found, last = path, info.ModTime()
		}
		return nil
	})
	return found
}

// wallOf is the time that the attempt used.
func wallOf(t *testing.T, events string) time.Duration {
	t.Helper()
	for text := range strings.Lines(events) {
		if l := decode(t, []byte(text)); l.Type == "output" && l.Name == "stats" {
			var stats struct {
				Wall float64 `json:"wall_seconds"`
			}
			if err := json.Unmarshal([]byte(l.Value), &stats); err != nil {
				t.Fatalf("%q: %v", l.Value, err)
			}
			return time.Duration(stats.Wall * float64(time.Second))
		}
	}
	t.Fatal("no stats")
	return 0
}

// tally counts what became of attempts, by what happened to them.
type tally struct {
	mu   sync.Mutex
	rows map[string]outcomes
}

type outcomes struct {
	attempts, kills, passed int
	// steps is the most that a loss cost, lost for how long the agents worked in vain.
	steps int
	lost  time.Duration
	// over is the most that an attempt used beyond what was counted.
	over time.Duration
}

func (a *tally) add(l *lives, one outcomes) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := fmt.Sprintf("%-10s %-10s %s", l.runtime, l.loss, l.agent)
	r := a.rows[name]
	r.attempts, r.kills, r.steps, r.lost, r.over = r.attempts+1, r.kills+len(l.seen), max(r.steps, one.steps), max(r.lost, one.lost), max(r.over, one.over)
	if !l.t.Failed() {
		r.passed++
	}
	a.rows[name] = r
}

func (a *tally) tell(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(a.rows)) {
		r := a.rows[name]
		t.Logf("%-32s %d attempts, %d kills, %d passed; a loss cost %d steps at most, an attempt %v; it used %v more than was counted", name, r.attempts, r.kills, r.passed, r.steps, r.lost, r.over)
	}
}
