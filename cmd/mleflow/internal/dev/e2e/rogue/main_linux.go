package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == breach.ThiefCommand { // as a probe starts it
		if err := breach.Thief(os.Args[2:]); err != nil {
			fatal(err)
		}
		return
	}
	args := append(os.Args[1:], "", "")
	switch args[0] {
	case "steal":
		steal()
	case "resist":
		resist(args[1])
	case "work":
		work(args[1])
	case "train":
		train(args[1])
	case "victim":
		victim()
	case "reference":
		reference()
	case "sleep":
		time.Sleep(time.Hour)
	default:
		fmt.Fprintln(os.Stderr, "usage: rogue steal|resist MODE|work SECONDS|train SECONDS|victim")
		os.Exit(2)
	}
}

// probe is one attempt to find or do something forbidden.
type probe struct {
	name, tried string
	// run says what it got, and whether that is more than an agent should get.
	run func(*hunter) (got string, open bool)
}

// finding is the outcome of a probe, a line of probes.jsonl.
type finding struct {
	Probe    string   `json:"probe"`
	Tried    string   `json:"tried"`
	Got      string   `json:"got"`
	Open     bool     `json:"open"`
	Canaries []string `json:"canaries"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// patience is how long a probe may take.
const patience = 45 * time.Second

func steal() {
	out, err := os.Create(filepath.Join(os.Getenv("LOGS_DIR"), "probes.jsonl"))
	if err != nil {
		fatal(err)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	only := os.Getenv("AIM_ONLY")
	// The probes of mleflow doctor, of which those here are more.
	for _, f := range breach.System() {
		got := strings.Join(append(f.Reached, f.HeldBy), "; ")
		if only == "" || strings.Contains(f.Probe, only) {
			if err := enc.Encode(finding{Probe: f.Probe, Tried: f.Tried, Got: clip(got), Open: f.Result == breach.Reached, Canaries: []string{}}); err != nil {
				fatal(err)
			}
		}
	}
	all := slices.Concat(fileProbes(), kernelProbes(), networkProbes(), proxyProbes(), validityProbes(), outputProbes(), submissionProbes())
	for _, p := range all {
		if only != "" && !strings.Contains(p.name, only) {
			continue
		}
		if err := enc.Encode(try(p)); err != nil {
			fatal(err)
		}
	}
	fmt.Println("tried", len(all))
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "rogue:", err)
	os.Exit(1)
}

// try runs one probe; one that hangs is left behind.
func try(p probe) finding {
	type answer struct {
		got  string
		open bool
	}
	h := &hunter{}
	done := make(chan answer, 1)
	go func() {
		defer func() {
			if bad := recover(); bad != nil {
				done <- answer{fmt.Sprint("panic: ", bad), true}
			}
		}()
		got, open := p.run(h)
		done <- answer{got, open}
	}()
	f, started := finding{Probe: p.name, Tried: p.tried}, time.Now()
	select {
	case a := <-done:
		f.Got, f.Open = a.got, a.open
	case <-time.After(patience):
		f.Got, f.Open = "no end within "+patience.String(), true
	}
	f.Seconds = time.Since(started).Seconds()
	f.Canaries = h.list()
	f.Open = f.Open || len(f.Canaries) > 0
	f.Got = clip(f.Got)
	return f
}

func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}
