package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// kinds are the step kinds that must have been in flight at a kill.
var kinds = []string{"download", "prepare", "checksum", "exec", "agent-run", "grade", "aggregate"}

// TestKill kills real applies at random moments during every step kind, at
// least 60 times (MLEFLOW_KILLS says how often), and applies again each time.
// However often it was killed, a pipeline ends with the outputs of an
// undisturbed run, a clean cache, and no finished step done twice.
func TestKill(t *testing.T) {
	t.Parallel()
	want, _ := newPlace(t, t.TempDir()).finish()
	if len(want) != 4 {
		t.Fatalf("outputs of the undisturbed run: %v", want)
	}
	k := &killer{t: t, rng: rand.New(rand.NewPCG(1, 2)), want: want, hit: map[string]int{}}
	goal := kills(t)
	missed := func(kind string) bool { return k.hit[kind] == 0 }
	for k.total < goal || slices.ContainsFunc(kinds, missed) && k.total < 4*goal {
		k.round(max(goal, k.total+len(kinds)))
	}
	t.Logf("%d kills, by what was in flight: %v", k.total, k.hit)
	for _, kind := range kinds {
		if k.hit[kind] == 0 {
			t.Errorf("no kill hit a step of kind %s", kind)
		}
	}
}

func kills(t *testing.T) int {
	text := os.Getenv("MLEFLOW_KILLS")
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type killer struct {
	t     *testing.T
	rng   *rand.Rand
	want  map[string]string
	hit   map[string]int
	total int
}

// round kills one pipeline again and again until it ends all the same, then
// checks what is left.
func (k *killer) round(goal int) {
	dir, err := os.MkdirTemp(k.t.TempDir(), "round-")
	if err != nil {
		k.t.Fatal(err)
	}
	p := newPlace(k.t, dir)
	for k.total < goal && k.attack(p) {
	}
	got, _ := p.finish()
	if diff := cmp.Diff(k.want, got); diff != "" {
		k.t.Fatalf("outputs differ from the undisturbed run:\n%s", diff)
	}
	if _, ran := p.finish(); ran != 0 {
		k.t.Fatalf("the apply after the last ran %d steps", ran)
	}
	p.verify()
	k.checkOnce(p)
	_ = os.RemoveAll(dir)
}

// attack starts an apply and kills it: soon after a step of the chosen kind
// began, or, one time in four, at any time. It reports whether the kill came
// before the end.
func (k *killer) attack(p *place) bool {
	cmd := p.command("apply", p.file, "--json")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill() }
	chosen := kinds[k.total%len(kinds)]
	var timer *time.Timer
	if k.rng.IntN(4) == 0 {
		timer = time.AfterFunc(time.Duration(k.rng.IntN(300))*time.Millisecond, kill)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // torn by the kill
		}
		if l.Type == "step_started" && l.Kind == chosen && timer == nil {
			timer = time.AfterFunc(time.Duration(k.rng.IntN(30_000))*time.Microsecond, kill)
		}
	}
	_ = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	if cmd.ProcessState.Exited() {
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			k.t.Fatalf("apply after %d kills: exit %d", k.total, code)
		}
		return false
	}
	k.total++
	return true
}

// checkOnce reads the journals of all the round's runs: no step may have been
// executed to its end twice.
func (k *killer) checkOnce(p *place) {
	past, err := history.New(p.cache).List()
	if err != nil {
		k.t.Fatal(err)
	}
	done := map[string]string{}
	for _, entry := range past {
		run, err := history.New(p.cache).Find(entry.ID)
		if err != nil {
			k.t.Fatal(err)
		}
		sum, err := run.Summary()
		if err != nil {
			k.t.Fatal(err)
		}
		for _, s := range sum.Steps {
			if s.Status == event.Ran {
				if other, twice := done[s.Address]; twice {
					k.t.Errorf("%s was executed to its end in runs %s and %s", s.Address, other, entry.ID)
				}
				done[s.Address] = entry.ID
			}
			if s.Status == "" && entry.State == history.Interrupted {
				k.hit[s.Kind]++
			}
		}
	}
	if len(done) == 0 {
		k.t.Error(fmt.Sprint("no journal tells of a step; runs: ", slices.Collect(maps.Keys(done))))
	}
}
