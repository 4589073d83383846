package bundle

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// Disclosure describes the conditions of a run's attempts.
type Disclosure struct {
	Run      string        `json:"run"`
	Pipeline string        `json:"pipeline"`
	Version  string        `json:"mleflow"`
	State    history.State `json:"state"`
	Started  time.Time     `json:"started"`
	history.About
	Environment Environment `json:"environment"`
	// Evaluation is the last state of the pipeline's evaluation; nil without one.
	Evaluation *plan.Evaluation `json:"evaluation,omitempty"`
	Attempts   []Attempt        `json:"attempts"`
	// Earlier are the runs of the same pipeline file that the run history holds
	// from before this one, oldest first.
	Earlier []EarlierRun `json:"earlier_runs"`
	// Elsewhere are the runs of other pipeline files from before this one that made
	// attempts of the same agents at the same competitions; only these are counted.
	Elsewhere []EarlierRun `json:"earlier_runs_elsewhere,omitempty"`
	// Counted are the attempts that the cache began, by its chain.
	Counted []Tried `json:"counted,omitempty"`
}

// Others is how many other attempts were made before that at an address.
func (d *Disclosure) Others(address string) int {
	for _, a := range d.Attempts {
		if a.Address == address && a.History.Run != d.Run {
			return max(0, a.History.Distinct-1) // this one is of an earlier run itself
		} else if a.Address == address {
			return a.History.Distinct
		}
	}
	return 0
}

// EarlierRun is another run of the pipeline.
type EarlierRun struct {
	Run     string        `json:"run"`
	Started time.Time     `json:"started"`
	State   history.State `json:"state"`
	// Attempts is how many agents it started, Failed how many of these the
	// machine failed.
	Attempts int `json:"attempts"`
	Failed   int `json:"failed"`
}

// Attempt is one attempt of an agent.
type Attempt struct {
	Address            string `json:"address"`
	Competition        string `json:"competition"`
	CompetitionVersion string `json:"competition_version"`
	Seed               string `json:"seed"`

	Agent        string   `json:"agent"`
	AgentVersion string   `json:"agent_version,omitempty"`
	Command      []string `json:"command"`
	// Resume is the command with which it went on after a loss, if it is another one.
	Resume []string `json:"resume,omitempty"`
	// Python is the digest of its Python packages.
	Python      string `json:"python,omitempty"`
	Image       string `json:"image,omitempty"`
	ImageDigest string `json:"image_digest,omitempty"`
	// Secrets are the names of those it was given.
	Secrets []string `json:"secrets,omitempty"`
	// Env are the bytes of the environment variables it was given, Files the names of
	// its files. The disclosure of a bundle does not have them, but its records do.
	Env   map[string]int `json:"-"`
	Files []string       `json:"-"`
	// Models are the language models available to it.
	Models []Terms `json:"models,omitempty"`

	// Conditions are the conditions of its results, from its key.
	Conditions []string `json:"conditions"`
	// Untrusted reports whether the agent was not isolated; it follows from Conditions.
	Untrusted bool `json:"untrusted"`

	Saw      Sight    `json:"saw"`
	Network  Traffic  `json:"network"`
	Validity Verdicts `json:"validity"`
	Shim     Shim     `json:"shim"`
	Limits   Limits   `json:"limits"`
	Runtime  Runtime  `json:"runtime"`
	Result   Result   `json:"result"`
	History  History  `json:"history"`

	// earlier means that its page is as earlier versions wrote it.
	earlier bool
}

// Sight lists the agent's inputs, by digest.
type Sight struct {
	Data  string `json:"data_tree"`
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
	// Task identifies its instructions; see competitions.Task.
	Task         string `json:"task"`
	Description  string `json:"description_sha256"`
	Instructions string `json:"instructions_sha256"`
}

// Traffic lists the reachable servers and the requests.
type Traffic struct {
	// Policy is none, allow or open.
	Policy string   `json:"policy"`
	Allow  []string `json:"allow,omitempty"`
	Hosts  []Host   `json:"hosts"`
}

// Host is the traffic with one place.
type Host struct {
	Host    string `json:"host"`
	Allowed int    `json:"allowed"`
	Refused int    `json:"refused"`
	Failed  int    `json:"failed"`
	Up      int64  `json:"bytes_up"`
	Down    int64  `json:"bytes_down"`
}

// Verdicts are the answers of the validity server.
type Verdicts struct {
	Calls   int `json:"calls"`
	Valid   int `json:"valid"`
	Invalid int `json:"invalid"`
	Failed  int `json:"failed"`
}

// Shim is the report of the package mlebench, if the agent had it. The agent may have
// suppressed or forged parts of it.
type Shim struct {
	Given bool `json:"given"`
	// Calls is the number of refused or withheld calls; Groups are the most frequent
	// ones.
	Calls  int          `json:"calls"`
	Groups []shim.Group `json:"groups,omitempty"`
}

// Limits are the agent's limits, from the key; empty means none.
type Limits struct {
	Time        string `json:"time"`
	CPUs        string `json:"cpus"`
	MemoryBytes string `json:"memory_bytes"`
	GPUs        string `json:"gpus"`
	Processes   string `json:"processes"`
	// DiskBytes is the reserved disk space, 0 for none.
	DiskBytes int64 `json:"disk_bytes"`
}

// Runtime describes the runtime that ran it.
type Runtime struct {
	Name         string   `json:"name"`
	Isolated     bool     `json:"isolated"`
	Handler      string   `json:"handler,omitempty"`
	User         string   `json:"user,omitempty"`
	Capabilities string   `json:"capabilities,omitempty"`
	Devices      []string `json:"devices"`
	// Enforced says by what each limit was held, where the runtime has several ways.
	Enforced map[string]string `json:"enforced,omitempty"`
}

// Result is how it ended.
type Result struct {
	Outcome         outcome.End `json:"outcome"`
	WallSeconds     float64     `json:"wall_seconds"`
	CPUSeconds      float64     `json:"cpu_seconds"`
	PeakMemoryBytes int64       `json:"peak_memory_bytes"`
	Resumed         bool        `json:"resumed"`
	Submission      string      `json:"submission_tree"`
}

// History is how often it was tried.
type History struct {
	// Run is the run that made the attempt, which may be an earlier one.
	Run string `json:"run"`
	// Tries is how often the agent was started for this result; more than
	// one means that the machine failed before. 0 is not known.
	Tries   int      `json:"tries"`
	Retries []string `json:"retries,omitempty"`
	// Before is how often earlier runs started an agent at this address of this
	// pipeline file, or the same agent with the same models at the competition, in any
	// pipeline and whatever the step was called. Distinct is how many different
	// attempts these were, without the other ones of this bundle.
	Before   int `json:"earlier_runs"`
	Distinct int `json:"earlier_actions"`
}

// disclose adds the disclosure.
func (c *collector) disclose() error {
	d, err := c.disclosure(c.ctx, c.src.Cache)
	if err != nil {
		return err
	}
	for i := range d.Attempts {
		d.Attempts[i].Limits.DiskBytes = c.rules[d.Attempts[i].Address].diskBytes
	}
	d.Counted, d.Evaluation = c.counted, c.sum.Evaluation
	if err := c.addHistory(d); err != nil {
		return err
	}
	c.disclosed = d
	c.add(disclosurePage, []byte(d.Markdown()))
	return c.addDocument(disclosureFile, d)
}

// Disclose returns the disclosure of a run.
func Disclose(ctx context.Context, src Source) (*Disclosure, error) {
	c, err := newCollector(ctx, src)
	if err != nil {
		return nil, err
	}
	err = inOrder(c.about, c.readRecords, c.chain, c.disclose)
	return c.disclosed, err
}

// disclosure derives the disclosure from the records.
func (a account) disclosure(ctx context.Context, store cache.Store) (*Disclosure, error) {
	run := a.Run
	d := &Disclosure{Run: run.ID, Pipeline: run.Pipeline, Version: run.Version, State: run.State, Started: run.Started, About: run.About, Environment: a.environment, Attempts: []Attempt{}, Earlier: []EarlierRun{}}
	sizes := map[string]output{}
	for _, r := range a.records {
		for _, o := range r.Outputs {
			if o.Digest != nil {
				sizes[o.Digest.String()] = o
			}
		}
	}
	for _, r := range a.records {
		if r.Kind != conditions.AttemptKind {
			continue
		}
		attempt := attemptOf(r)
		saw := sizes[attempt.Saw.Data]
		attempt.Saw.Files, attempt.Saw.Bytes = saw.Files, saw.Size
		if err := readJournals(ctx, store, r, &attempt); err != nil {
			return nil, fmt.Errorf("disclose %s: %w", r.Address, err)
		}
		d.Attempts = append(d.Attempts, attempt)
	}
	return d, nil
}

// agentBlock is the agent of an attempt.
type agentBlock struct {
	Name    string            `json:"name"`
	Image   string            `json:"image"`
	Command []string          `json:"command"`
	Args    []string          `json:"args"`
	Secrets map[string]string `json:"secrets"`
}

// agentOf reads the agent from the key's fields: one document, or one field an
// attribute. What cannot be read is empty, as one of another version is.
func agentOf(r record) agentBlock {
	var b agentBlock
	if text := r.field("agent"); text != "" {
		_ = json.Unmarshal([]byte(text), &b)
		return b
	}
	for name, dst := range map[string]any{"name": &b.Name, "image": &b.Image, "command": &b.Command, "args": &b.Args, "secrets": &b.Secrets} {
		_ = json.Unmarshal([]byte(r.field("agent."+name)), dst)
	}
	if built := r.field("agent.built"); built != "null" && b.Image == "" {
		b.Image = built
	}
	return b
}

// AttemptOf describes an attempt from its record in the cache.
func AttemptOf(address string, rec *cache.Record) Attempt { return attemptOf(bareRecord(address, rec)) }

// attemptOf describes an attempt from the fields and values of a record.
func attemptOf(r record) Attempt {
	agent := agentOf(r)
	a := Attempt{
		Address: r.Address, Competition: r.field("competition"), CompetitionVersion: r.field("version"), Seed: r.field("seed"),
		Agent: agent.Name, AgentVersion: r.field("built-in agent version"), Command: append(append([]string{}, agent.Command...), agent.Args...),
		Image: agent.Image, ImageDigest: r.field("image digest"),
		Saw: Sight{Data: r.field("data"), Task: r.field("task"), Description: r.field("description"), Instructions: r.field("instructions")},
		Limits: Limits{
			Time: r.field("timeout"), CPUs: r.field("resources.cpus"), MemoryBytes: r.field("resources.memory"),
			GPUs: r.field("resources.gpus"), Processes: r.field("processes"),
		},
		Runtime:    Runtime{Name: r.field("runtime"), Handler: r.field("handler"), User: r.field("user"), Capabilities: r.field("capabilities"), Devices: []string{}},
		Conditions: append([]string{}, step.RecordedConditions(r.Fields, r.Tries)...),
		Network:    Traffic{Hosts: []Host{}},
		Shim:       Shim{Given: r.field("shim") == "true"},
		History:    History{Run: r.Run},
	}
	a.Secrets = slices.Sorted(maps.Keys(agent.Secrets))
	a.given(r)
	_ = json.Unmarshal([]byte(r.field("resume")), &a.Resume)
	_ = json.Unmarshal([]byte(r.field("network.allow")), &a.Network.Allow)
	a.Untrusted = conditions.Untrusted(a.Conditions)
	a.read(r)
	return a
}

// read takes the attempt's values.
func (a *Attempt) read(r record) {
	var stats agentrun.Stats
	_ = json.Unmarshal(r.Outputs["stats"].Value, &stats)
	_ = json.Unmarshal(r.Outputs["outcome"].Value, &a.Result.Outcome)
	a.Network.Policy = cmp.Or(stats.Network, conditions.NoneOf)
	a.Models = termsOf(r, stats.Models)
	a.Runtime.Isolated, a.Shim.Calls = stats.Isolated, stats.ShimCalls
	a.Runtime.Enforced = stats.Enforced
	a.Runtime.Devices = append(a.Runtime.Devices, stats.Devices...)
	a.Result.WallSeconds, a.Result.CPUSeconds = stats.WallSeconds, stats.CPUSeconds
	a.Result.PeakMemoryBytes, a.Result.Resumed = stats.PeakMemoryBytes, stats.Resumed
	if id := r.Outputs["submission"].Digest; id != nil {
		a.Result.Submission = id.String()
	}
}

// readJournals sums up the attempt's requests to the network and the validity server.
func readJournals(ctx context.Context, store cache.Store, r record, a *Attempt) error {
	hosts := map[string]Host{}
	err := eachLine(ctx, store, r.Outputs["network_log"], func(conn proxy.Conn) {
		name := fmt.Sprintf("%s:%d", conn.Host, conn.Port)
		h := hosts[name]
		h.Host = name
		switch conn.Verdict {
		case proxy.Allowed:
			h.Allowed++
		case proxy.Refused:
			h.Refused++
		default:
			h.Failed++
		}
		h.Up, h.Down = h.Up+conn.Up, h.Down+conn.Down
		hosts[name] = h
	})
	a.Network.Hosts = slices.AppendSeq(a.Network.Hosts, maps.Values(hosts))
	slices.SortFunc(a.Network.Hosts, func(x, y Host) int { return strings.Compare(x.Host, y.Host) })
	var tally shim.Tally
	err = errors.Join(err, eachLine(ctx, store, r.Outputs["shim_log"], tally.Add))
	a.Shim.Groups = tally.Groups()
	return errors.Join(err, eachLine(ctx, store, r.Outputs["validation_log"], func(call validity.Call) {
		a.Validity.Calls++
		switch {
		case call.Error != "" || call.Status != 200:
			a.Validity.Failed++
		case call.Valid:
			a.Validity.Valid++
		default:
			a.Validity.Invalid++
		}
	}))
}

// eachLine reads a log of JSON lines; a line that is none is passed over.
func eachLine[T any](ctx context.Context, store cache.Store, o output, fn func(T)) error {
	if o.Digest == nil {
		return nil
	}
	r, err := store.Open(ctx, *o.Digest)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(io.LimitReader(r, maxFile), 64<<10)
	for err == nil {
		var line []byte
		var v T
		if line, err = lines.ReadBytes('\n'); len(line) > 0 && json.Unmarshal(line, &v) == nil {
			fn(v)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, r.Close())
}
