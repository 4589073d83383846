package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKilledDataPath kills the whole program with SIGKILL while it downloads
// and while it unpacks, 20 times (MLEFLOW_KILLS says how often), and applies
// again each time. In the end the trees are those of an undisturbed run, the
// cache is whole and holds nothing that is of no more use, and little was sent
// twice. What a kill loses besides the bytes since the last checkpoint is what the
// server had put into socket buffers and a busy machine had not read yet: that
// grows with the load, so the limit of 2 % holds only where MLEFLOW_KILLS asks
// for the measurement.
func TestKilledDataPath(t *testing.T) {
	t.Parallel()
	// On a machine with much other load a kill may come late, and costs more.
	goal, limit := 10, 100.0
	if n, err := strconv.Atoi(os.Getenv("MLEFLOW_KILLS")); err == nil {
		goal, limit = n, 2
	}
	// Slow enough that kills hit downloads.
	s := newStandIn(t, nil, 12<<20, 24<<20)
	undisturbed := s.machine(t, true)
	want, _ := undisturbed.apply()
	sent := s.Stats().Sent.Load()
	k := &dataKiller{t: t, s: s, rng: rand.New(rand.NewPCG(3, 9)), goal: goal, hit: map[string]int{}}
	rounds := 0
	// A busy machine spends more of its time elsewhere: go on until enough kills hit both.
	for ; rounds < 3*goal && (k.total < goal || k.hit["fetching"] < goal/4 || k.hit["unpacking"] < goal/10); rounds++ {
		dir, err := os.MkdirTemp(t.TempDir(), "round-")
		if err != nil {
			t.Fatal(err)
		}
		p := *undisturbed
		p.cache = filepath.Join(dir, "cache")
		k.round(&p, want)
		_ = os.RemoveAll(dir)
	}
	got := s.Stats().Sent.Load() - sent
	once := int64(rounds) * s.size
	twice := 100 * float64(got-once) / float64(once)
	fmt.Printf("BenchmarkKilledDataPath\t%d\t%d kills\t%.4g percent-twice\n", rounds, k.total, twice)
	t.Logf("%d kills in %d rounds, by what went on: %v; %d bytes sent for %d: %.2f %% twice", k.total, rounds, k.hit, got, once, twice)
	if twice >= limit {
		t.Errorf("%.2f %% were sent twice", twice)
	}
	if k.hit["fetching"] < goal/4 || k.hit["unpacking"] < goal/10 {
		t.Errorf("the kills hit %v", k.hit)
	}
	if n := s.Stats().Leaks.Load(); n > 0 {
		t.Errorf("%d credentials were sent to the storage", n)
	}
}

type dataKiller struct {
	t           *testing.T
	s           *standIn
	rng         *rand.Rand
	goal, total int
	hit         map[string]int
}

// round kills applies of one machine, at most eight, until one ends.
func (k *dataKiller) round(p *place, want map[string]string) {
	for range 8 {
		if k.total >= k.goal || !k.attack(p) {
			break
		}
	}
	got, said := p.apply("--connections", "1")
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Fatalf("after %d kills the trees differ:\n%s", k.total, diff)
	}
	p.verifyFull()
	noSecrets(k.t, p.cache, said)
	k.noRests(p.cache)
}

// attack starts an apply and kills it: one time in two after a random number
// of bytes, else soon after it begins to unpack. It reports whether the kill
// came before the end.
func (k *dataKiller) attack(p *place) bool {
	cmd := p.command("apply", p.file, "--json", "--connections", "1")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	stop := make(chan struct{})
	unpack := k.rng.IntN(2) == 0
	if !unpack {
		go k.killAfter(cmd, k.s.Stats().Sent.Load()+k.rng.Int64N(k.s.size/4), stop)
	}
	doing := k.watch(cmd, stdout, unpack)
	_ = cmd.Wait()
	close(stop)
	if cmd.ProcessState.Exited() {
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			k.t.Fatalf("apply after %d kills: exit %d", k.total, code)
		}
		return false
	}
	k.total++
	for _, what := range doing {
		k.hit[what]++
	}
	return true
}

// killAfter kills when the server has sent so much.
func (k *dataKiller) killAfter(cmd *exec.Cmd, sent int64, stop <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for k.s.Stats().Sent.Load() < sent {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
	}
	_ = cmd.Process.Kill()
}

// watch reads events, kills soon after unpacking began if it is told to, and
// returns what the steps were doing at the end.
func (k *dataKiller) watch(cmd *exec.Cmd, events io.Reader, kill bool) map[string]string {
	doing := map[string]string{}
	for lines := bufio.NewScanner(events); lines.Scan(); {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // torn by the kill
		}
		switch l.Type {
		case "step_started":
			doing[l.Address] = l.Kind
		case "step_progress":
			doing[l.Address] = l.What
		case "step_finished":
			delete(doing, l.Address)
		}
		if kill && l.What == "unpacking" {
			kill = false
			time.AfterFunc(time.Duration(k.rng.IntN(80))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
	}
	return doing
}

// noRests sees that no archive and nothing to continue with is left, but for
// the checkpoint of a few bytes that a kill may separate from what it was of.
func (k *dataKiller) noRests(cache string) {
	left, err := filepath.Glob(filepath.Join(cache, "ingest", "*"))
	if err != nil {
		k.t.Error(err)
	}
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 && !strings.HasSuffix(path, ".state") {
			k.t.Errorf("%s is left with %d bytes", path, info.Size())
		}
	}
}
