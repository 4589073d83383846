package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/check"
)

func readAll(w io.Writer, res *http.Response) (int64, error) { return io.Copy(w, res.Body) }

// lab is a cache and a run history with runs made by hand, and the pages over them.
type lab struct {
	t       testing.TB
	ctx     context.Context
	cache   *disk.Cache
	history *history.Store
	ui      *UI
	start   time.Time
	// made stands in the keys of the steps that end next in place of their run, and program
	// is a field of theirs.
	made, program string
	// reports means that the reports of many trials are stored, too.
	reports bool
}

func newLab(t testing.TB) *lab {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	c, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var used sync.RWMutex
	t.Cleanup(func() { // once nobody reads the cache
		cancel()
		used.Lock()
		defer used.Unlock()
		_ = c.Close()
	})
	l := &lab{t: t, ctx: ctx, cache: c, history: history.New(dir), start: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)}
	l.ui = New(ctx, Source{
		History: l.history, Version: "0.1.0",
		Kept: func(key string) (string, error) { return KeptIn(ctx, c, key) },
		Results: func(_ *history.Past, use func(Results) error) error {
			if used.RLock(); ctx.Err() != nil {
				used.RUnlock()
				return ctx.Err()
			}
			defer used.RUnlock()
			return use(c)
		},
		Catalog: func(*history.Past) (*competitions.Catalog, error) { return competitions.Shipped() },
	})
	return l
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// folder stores files as a tree.
func (l *lab) folder(files map[string]string) cache.Ref {
	var b tree.Builder
	for _, name := range view.SortedKeys(files) {
		ref := must(cache.PutBytes(l.ctx, l.cache, []byte(files[name])))
		if err := b.Add(name, ref, false); err != nil {
			l.t.Fatal(err)
		}
	}
	return must(b.Build(l.ctx, l.cache))
}

// attempt is one that a lab makes up: whatever an agent has a say in.
type attempt struct {
	agent, seed, competition string
	score                    float64
	reason                   string
	logs, code, submission   map[string]string
	codes                    map[string]string
	exchanges                [][2]string // what was said, what was replied
	recorded                 string      // a folder with a transcript, in place of exchanges
	validations, network     string
	shim                     string
	curve                    string
	queries                  string // the log of its validation scores; "" is an attempt without
	message                  string
	forked                   string             // KEY@TIME
	found                    []evidence.Finding // by a step that checks it; nil is no such step
	set                      []string           // its conditions; nil is those of a process
	program                  string             // the command of its agent
	version                  string             // of its competition
	made                     string             // in place of the run in its keys: the same in two runs is one attempt
}

// key tells its steps from those of other attempts.
func (a attempt) key() string { return a.agent + "/" + a.competition + "/" + a.seed }

// steps is how many steps attempts have.
func steps(attempts ...attempt) int {
	n := 2 * len(attempts)
	for _, a := range attempts {
		if a.found != nil {
			n++
		}
	}
	return n
}

// write begins a run of attempts, each an agent-run step, a grade step and, if
// something was found, a step that checks it.
func (l *lab) write(pipeline string, started time.Time, attempts []attempt) *history.Run {
	p := &plan.Plan{Pipeline: pipeline}
	for _, a := range attempts {
		solve, score := addr.Keyed(addr.Step{Kind: "agent-run", Name: "solve"}, a.key()), addr.Keyed(addr.Step{Kind: "grade", Name: "score"}, a.key())
		first := len(p.Steps)
		why := []plan.Reason{{Text: "first run " + a.message}}
		p.Steps = append(p.Steps, plan.Step{Address: solve, Name: solve.String(), Kind: "agent-run", Action: plan.Run, Reasons: why},
			plan.Step{Address: score, Name: score.String(), Kind: "grade", Action: plan.Deferred, After: []int{first}})
		if a.found != nil {
			rules := addr.Keyed(addr.Step{Kind: conditions.CheckKind, Name: "rules"}, a.key())
			p.Steps = append(p.Steps, plan.Step{Address: rules, Name: rules.String(), Kind: conditions.CheckKind, Action: plan.Deferred, After: []int{first}})
		}
	}
	return must(l.history.Begin(history.Opening{Plan: p, Info: history.Info{Pipeline: "/home/me/" + pipeline, Started: started, Version: "0.1.0", CPUs: 8, MemoryBytes: 64 << 30, GPUs: []string{"nvidia.com/gpu=0"},
		Argv: []string{"mleflow", "apply", pipeline, "-var", "note=" + attempts[0].message}, Variables: map[string]json.RawMessage{"note": must(json.Marshal(attempts[0].message))}},
		Sources: map[string][]byte{pipeline: []byte("# " + attempts[0].message)}}))
}

// finish stores the results of an attempt and tells the run.
func (l *lab) finish(r *history.Run, i int, a attempt) {
	solve, score := addr.Keyed(addr.Step{Kind: "agent-run", Name: "solve"}, a.key()).String(), addr.Keyed(addr.Step{Kind: "grade", Name: "score"}, a.key()).String()
	when := func(s int) event.At { return event.At{Time: l.start.Add(time.Duration(s) * time.Second)} }
	set := []string{"isolation=none", "runtime=process", "task=own"}
	if a.set != nil {
		set = a.set
	}
	if a.forked != "" {
		set = slices.Insert(set, 0, "forked="+a.forked)
	}
	blob := func(text string) cache.Value {
		return cache.Value{Ref: must(cache.PutBytes(l.ctx, l.cache, []byte(text)))}
	}
	stats := `{"wall_seconds":86400,"cpu_seconds":100,"peak_memory_bytes":1073741824,"exit_code":0,"runtime":"process","network":"allow","connections":2,"validations":3,"models":{"main":{"provider":"openai","models":["gpt"],"requests":3,"input_tokens":1200,"output_tokens":300,"cost_usd":"0.25","waited_seconds":4}}}`
	out := cache.Outputs{
		"code": {Ref: l.folder(a.code)}, "logs": {Ref: l.folder(a.logs)}, "submission": {Ref: l.folder(a.submission)}, "snapshots": {Ref: l.folder(nil)}, codeSnapshots: {Ref: l.folder(a.codes)},
		"transcript": {Ref: l.transcript(a)}, "validation_log": blob(a.validations), "network_log": blob(a.network), "shim_log": blob(a.shim),
		"stats": {JSON: []byte(stats)}, "outcome": {JSON: []byte(`"finished"`)},
	}
	if a.queries != "" {
		out["queries"] = cache.Value{Ref: l.folder(map[string]string{validity.QueriesFile: a.queries})}
		out["stats"] = cache.Value{JSON: []byte(strings.Replace(stats, "{", `{"queries":{"used":3,"allowed":50,"best_score":0.84375},`, 1))}
	}
	log := r.Log(solve, 1)
	_, _ = log.Write([]byte("started " + a.message + "\n"))
	_ = log.Close()
	l.made, l.program = a.made, a.program
	l.end(r, solve, "agent-run", out, set, when(10*i), when(10*i+5))
	valid := a.reason == ""
	medals := map[string]bool{"any_medal": valid && a.score > 0.97, "gold_medal": valid && a.score > 0.99, "bronze_medal": valid && a.score > 0.97 && a.score <= 0.99}
	report := map[string]any{"competition_id": a.competition, "score": a.score, "exact_score": a.score, "outcome": "scored", "gold_threshold": 0.99167, "silver_threshold": 0.98611, "bronze_threshold": 0.97222, "median_threshold": 0.96667,
		"valid_submission": true, "submission_exists": true, "rank": 7, "teams": 40, "above_median": valid && a.score > 0.9, "conditions": set, "labels": map[string]string{"agent": a.agent, "seed": a.seed}, "competition_version": a.version}
	for k, v := range medals {
		report[k] = v
	}
	value := strconv.FormatFloat(a.score, 'g', -1, 64)
	if a.reason != "" {
		report["outcome"], report["reason"], report["score"], report["exact_score"], report["valid_submission"], value = "invalid", a.reason, nil, nil, false, "null"
	}
	graded := cache.Outputs{"report": blob(string(must(json.Marshal(report)))), "medal": {JSON: []byte(`"none"`)}, "outcome": {JSON: []byte(`"scored"`)}, "score": {JSON: []byte(value)},
		"reason": {JSON: must(json.Marshal(a.reason))}, "curve": {JSON: []byte(a.curve)}}
	if a.reason != "" {
		graded["outcome"] = cache.Value{JSON: []byte(`"invalid"`)}
	}
	if valid && a.score > 0.97 {
		graded["medal"] = cache.Value{JSON: []byte(`"bronze"`)}
	}
	l.end(r, score, "grade", graded, set, when(10*i+6), when(10*i+7))
	if a.found == nil {
		return
	}
	warnings := 0
	for _, f := range a.found {
		if f.Severity == evidence.Warning {
			warnings++
		}
	}
	checked := check.Report{Rules: []string{"hand-labelled", "outside-data"}, Findings: a.found, Unread: []string{"logs/" + a.message}}
	l.end(r, addr.Keyed(addr.Step{Kind: conditions.CheckKind, Name: "rules"}, a.key()).String(), conditions.CheckKind, cache.Outputs{
		"findings": blob(string(must(json.Marshal(checked)))), "warnings": {JSON: []byte(strconv.Itoa(warnings))}, "notes": {JSON: []byte(strconv.Itoa(len(a.found) - warnings))},
	}, set, when(10*i+8), when(10*i+9))
}

// end records an action and tells the run that its step ran.
func (l *lab) end(r *history.Run, address, kind string, out cache.Outputs, set []string, from, to event.At) {
	h := digest.NewHasher(kind, "1")
	h.String("address", address)
	h.String("run", cmp.Or(l.made, r.ID()))
	rec := &cache.Record{Action: h.Sum(), Address: address, Kind: kind, Outputs: out, Run: r.ID(), Fields: []digest.Field{{Label: "timeout", Value: "24h"}, {Label: "seed", Value: address}}}
	if l.program != "" {
		rec.Fields = append(rec.Fields, digest.Field{Label: "agent.command", Value: l.program})
	}
	if err := l.cache.Record(l.ctx, rec); err != nil {
		l.t.Fatal(err)
	}
	outputs := map[string]string{}
	for name, v := range out {
		outputs[name] = string(v.JSON)
		if !v.Ref.IsZero() {
			outputs[name] = string(v.Ref.Kind) + ":" + v.Ref.ID.String()
		}
	}
	r.Emit(event.StepStarted{At: from, Address: address, Kind: kind, Try: 1, CPUs: 2, MemoryBytes: 1 << 30, Devices: []string{"nvidia.com/gpu=0"}})
	if kind == "agent-run" {
		for i := range 24 { // what it uses in a day
			at := event.At{Time: from.Time.Add(time.Duration(i) * time.Hour)}
			r.Emit(event.StepPhase{At: at, Address: address, Phase: step.Phase{Name: step.Running, Started: from.Time, MemoryBytes: int64(2+i%7) << 29, CPUMillis: int64(i) * int64(i) * 150_000, GPUPercent: int64(i * 4 % 90), Spent: step.Spent{Requests: int64(i), Tokens: int64(i * i * 1000)}}})
		}
	}
	r.Emit(event.StepFinished{At: to, Address: address, Kind: kind, Status: event.Ran, Action: rec.Action.String(), LastTry: 1, DurationMillis: 5000, Outputs: outputs, Conditions: set})
}

// transcript stores exchanges as an attempt does.
func (l *lab) transcript(a attempt) cache.Ref {
	if a.recorded != "" {
		return l.stored(a.recorded)
	}
	if len(a.exchanges) == 0 {
		return l.folder(nil)
	}
	dir := l.t.TempDir()
	w := must(transcript.Open(dir, 4<<30, nil))
	for i, x := range a.exchanges {
		e := w.Begin(must(json.Marshal(map[string]any{"model": "gpt", "messages": []map[string]string{{"role": "user", "content": x[0]}}})))
		_, _ = e.Write(must(json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": x[1]}}}})))
		e.End(transcript.Event{Time: l.start.Add(time.Duration(i) * time.Second), Model: "main", Provider: "openai", Method: "POST", Path: "/v1/chat/completions", Asked: "gpt", Status: 200, Seconds: 1.5, Waited: 2,
			Charge: transcript.Charge{Usage: &dialect.Usage{Input: 400, Output: 100}, Cost: 5_000_000}})
	}
	if err := w.Close(); err != nil {
		l.t.Fatal(err)
	}
	return l.stored(dir)
}

// stored stores a folder.
func (l *lab) stored(dir string) cache.Ref {
	files := map[string]string{}
	for _, f := range must(os.ReadDir(dir)) {
		files[f.Name()] = string(must(os.ReadFile(filepath.Join(dir, f.Name()))))
	}
	return l.folder(files)
}

// close ends a run.
func (l *lab) close(r *history.Run, ran int) {
	r.Emit(event.OutputValue{At: event.At{Time: l.start}, Name: "board", Value: "agent  score", IsString: true})
	r.Emit(event.RunFinished{At: event.At{Time: l.start.Add(time.Hour)}, Run: r.ID(), Status: event.Ran, Ran: ran, DurationMillis: 3_600_000})
	if err := r.Close(); err != nil {
		l.t.Fatal(err)
	}
}

// usual is an attempt with everything that a page can show, with a text wherever
// the agent has a say.
func usual(agent, seed, x string) attempt {
	quoted := strings.TrimSuffix(strings.TrimPrefix(string(must(json.Marshal(x))), `"`), `"`)
	file := strings.Map(func(r rune) rune {
		if r == '/' || r == 0 || r == '\\' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(x, "_"))
	file = strings.ToValidUTF8(fmt.Sprintf("%.80s", file), "_")
	return attempt{
		agent: agent, seed: seed, competition: "demo-digits", score: 0.975, message: x,
		logs: map[string]string{"output.log": "epoch 1\n" + x + "\n", file + ".log": x}, code: map[string]string{"main.py": "import os\nprint('two')\n# " + x + "\n", "lib/" + file + ".py": x},
		codes:       map[string]string{"000003600/main.py": "import os\nprint('one')\n", "000007200/main.py": "import os\nprint('two')\n"},
		submission:  map[string]string{"submission.csv": "id,label," + strings.NewReplacer("\n", " ", ",", " ", `"`, "'").Replace(x) + "\n1,3," + strings.NewReplacer("\n", " ", ",", " ", `"`, "'").Replace(x) + "\n2,4,b\n"},
		exchanges:   [][2]string{{"Solve it. " + x, "I look at the data. " + x}, {"go on", x}, {x, "done"}},
		validations: fmt.Sprintf(`{"time":"2026-03-01T10:00:00Z","bytes":12,"sha256":"abcdef","valid":false,"class":"rows","reason":"%s"}`+"\n", quoted),
		network:     fmt.Sprintf(`{"time":"2026-03-01T10:00:00Z","method":"CONNECT","host":"%s","port":443,"verdict":"refused","reason":"%s"}`+"\n", quoted, quoted),
		shim:        fmt.Sprintf(`{"time":"2026-03-01T10:00:00Z","at":"x","kind":"grade","call":"%s","file":"%s","line":3}`+"\n", quoted, quoted),
		curve:       `[{"seconds":4000,"outcome":"invalid","score":null,"medal":"none"},{"seconds":7200,"outcome":"scored","score":0.91,"medal":"none"},{"seconds":20000,"outcome":"scored","score":0.985,"medal":"bronze"},{"seconds":40000,"outcome":"scored","score":0.97,"medal":"none"},{"seconds":70000,"outcome":"scored","score":0.975,"medal":"bronze"}]`,
		found: []evidence.Finding{
			{Rule: "hand-labelled", Severity: evidence.Warning, File: "code/lib/" + file + ".py", Line: 7, Place: "cell 2 " + x, Excerpt: "labels = [" + x, Explanation: "The predictions are written in the code: " + x},
			{Rule: x, Severity: evidence.Note, File: "logs/" + x, Excerpt: x, Explanation: x},
		},
	}
}

// pagesOf are the addresses of all pages that show an attempt of a run.
func pagesOf(run string, a attempt) map[string]string {
	address := addr.Keyed(addr.Step{Kind: "agent-run", Name: "solve"}, a.key()).String()
	grade, rules := addr.Keyed(addr.Step{Kind: "grade", Name: "score"}, a.key()).String(), addr.Keyed(addr.Step{Kind: conditions.CheckKind, Name: "rules"}, a.key()).String()
	out := map[string]string{
		"runs": "/runs", "run": runAddress(run), "steps": runAddress(run) + "/steps", "attempts": runAddress(run) + "/attempts", "all attempts": "/attempts", "grouped": runAddress(run) + "/attempts?group=agent", "about": runAddress(run) + "/about", "report": runAddress(run) + "/report",
		"competitions": "/competitions", "competition": "/competitions/" + a.competition, "agents": "/agents", "agent": agentAddress(a.agent, ""), "compare": "/compare?a=" + escaped(agentPrefix+a.agent) + "&b=" + escaped(runPrefix+run),
		"grade": stepAddress(run, grade, "grade"), "check": stepAddress(run, rules, ""), "help": "/help", "nothing": "/nothing",
	}
	for _, tab := range attemptTabs {
		out["attempt "+tab.title] = stepAddress(run, address, tab.name)
	}
	out["turn"] = stepAddress(run, address, "transcript") + "&turn=1"
	out["found"], out["errors"] = stepAddress(run, address, "transcript")+"&find=LOOK+at", stepAddress(run, address, "transcript")+"&errors=1"
	out["step's log"], out["changes"] = stepAddress(run, address, "logs")+"&step=1", stepAddress(run, address, "code")+"&view=changes"
	out["against"] = stepAddress(run, address, "code") + "&other=" + escaped(address)
	out["change"] = stepAddress(run, address, "code") + "&from=" + escaped("1h00m") + "&to=" + escaped("2h00m")
	return out
}

// get asks the pages without a guard.
func (l *lab) get(path string) (int, string) {
	return l.ui.get(path)
}

// indexed waits until the results of all runs are read.
func (l *lab) indexed() {
	for range 2000 {
		if _, p := l.ui.results.now(); p.Ready && p.Done == p.Total {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.t.Fatal("the results are never read")
}
