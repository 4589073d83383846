// Package plan is the model of an apply: for every step instance, whether it
// will run, is cached or is deferred, with the reasons. It contains only data.
// The engine fills it, views print it, and the run history stores it.
package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/step"
)

// Action is the predicted outcome for an instance.
type Action string

// The actions.
const (
	// Run: the step will be executed.
	Run Action = "run"
	// Cached: its outputs are in the cache.
	Cached Action = "cached"
	// Deferred: it depends on a step that will run. The result of that step
	// decides whether this one runs or is cached.
	Deferred Action = "deferred"
	// Unneeded: it does not run, because the pipeline's evaluation ended without it, or
	// because a condition left it out.
	Unneeded Action = "unneeded"
)

// Reason explains why an instance runs or is deferred. Field, From and To are
// set if an input changed. From is empty for a new input, To for a removed one.
type Reason struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
	// Text is the whole reason as a phrase for people.
	Text string `json:"text"`
}

// Step is the plan for one instance.
type Step struct {
	Address addr.Instance `json:"-"`
	// Name is Address as a string.
	Name string `json:"address"`
	Kind string `json:"kind"`
	// Names are agent, competition and seed of an attempt or its grading, unless they are
	// the parts of its key; see step.Kind.
	Names []string `json:"names,omitempty"`
	// Agent is the name of the agent that it runs, or "".
	Agent   string   `json:"-"`
	Action  Action   `json:"action"`
	Reasons []Reason `json:"reasons"`
	// ActionID is the key in hexadecimal, or "" while it is undecided.
	ActionID string `json:"action_id,omitempty"`
	// Settled is the digest of what is known of its key while it is deferred, if
	// the plan is to be saved. Made is the run that made the result of a cached step.
	Settled string `json:"-"`
	Made    string `json:"-"`
	// After has the indexes in Plan.Steps of the instances on which this one
	// depends, in ascending order.
	After []int `json:"after,omitempty"`
	// ExpectedMillis is its previous duration, or 0 if unknown.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
	// Conditions are the known conditions of its results; see step.Conditioned.
	Conditions []string `json:"conditions,omitempty"`
	// Choices are this machine's known choices for arguments that leave the
	// choice to the machine.
	Choices []step.Choice `json:"choices,omitempty"`
	// Missing lists known requirements of the step that this machine does not
	// meet. It is empty for a cached step.
	Missing []string `json:"missing,omitempty"`
	// Unmasked lists the secrets of the step that cannot be masked, because they are
	// words. It is empty for a cached step.
	Unmasked []string `json:"unmasked,omitempty"`
	// OnLoss says what becomes of the step if its machine is lost; "" means that it
	// starts from the beginning.
	OnLoss string `json:"on_loss,omitempty"`
	// On is the place where it runs, or "" for this machine or a cached step.
	// Limits are what it asks for there. Unfit explains why no machine there meets its needs,
	// or why this one does not.
	On     string      `json:"on,omitempty"`
	Limits step.Limits `json:"-"`
	Unfit  string      `json:"unfit,omitempty"`
	// Estimate is the space that it needs if it runs, or nil.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Observed is set if its result was made under another key and stays valid.
	Observed *Observed `json:"observed,omitempty"`
	// Repeats is the result that it would repeat although nothing that a person wrote
	// differs, or nil.
	Repeats *Repeat `json:"repeats,omitempty"`
	// Spending is its known possible spending on models.
	Spending []step.Spending `json:"spending,omitempty"`
}

// Observed describes a result that is used although the step's key is another one today.
type Observed struct {
	// Version is the version of the kind that made it.
	Version string `json:"version"`
	// Names are the former names under which the result was recorded, such as "agent.old".
	Names []string `json:"names,omitempty"`
	// NotRecorded are the labels of the fields that its key did not have.
	NotRecorded []string `json:"not_recorded,omitempty"`
	// Differs is how today's key differs, if the result was kept on request.
	Differs []Reason `json:"differs,omitempty"`
}

// String is half a sentence: "by version 7; not recorded: network, time".
func (o *Observed) String() string {
	text := "by version " + o.Version
	if len(o.Names) > 0 {
		text += ", as " + strings.Join(o.Names, " and ")
	}
	if len(o.NotRecorded) > 0 {
		names := lists.Of(o.NotRecorded, func(label string) string { return strings.TrimPrefix(label, step.ConditionLabel) })
		text += "; not recorded: " + strings.Join(names, ", ")
	}
	if len(o.Differs) > 0 {
		text += "; today " + strings.Join(lists.Of(o.Differs, func(r Reason) string { return r.Text }), ", ")
	}
	return text
}

// Rename is an agent or a model that differs only in its name from one that the pipeline
// no longer declares.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Results is the number of the steps that have a result under the name From.
	Results int `json:"results"`
}

// String is "agent.b has the definition of agent.a, which has 12 results".
func (r Rename) String() string {
	noun := "results"
	if r.Results == 1 {
		noun = "result"
	}
	return fmt.Sprintf("%s has the definition of %s, which has %d %s", r.To, r.From, r.Results, noun)
}

// Repeat is a result that would be made again.
type Repeat struct {
	Action         string `json:"action"`
	Run            string `json:"run"`
	DurationMillis int64  `json:"duration_ms"`
	// CostUSD is what it cost, or nil if that is not known.
	CostUSD *float64 `json:"cost_usd"`
}

// Repeats sums up results that would be made again.
type Repeats struct {
	Steps          int     `json:"steps"`
	DurationMillis int64   `json:"duration_ms"`
	CostUSD        float64 `json:"cost_usd"`
	// Unknown is the number of those whose cost is not known.
	Unknown int `json:"cost_unknown,omitempty"`
}

// SumRepeats sums up the results that the steps would make again.
func (p *Plan) SumRepeats() {
	var r Repeats
	for i := range p.Steps {
		one := p.Steps[i].Repeats
		if one == nil || p.Steps[i].Action != Run {
			continue
		}
		r.Steps++
		r.DurationMillis += one.DurationMillis
		if one.CostUSD == nil {
			r.Unknown++
			continue
		}
		r.CostUSD += *one.CostUSD
	}
	if p.Repeats = nil; r.Steps > 0 {
		p.Repeats = &r
	}
}

// String is "would repeat 3 results: 41h, 120.00 USD".
func (r *Repeats) String() string {
	took := time.Duration(r.DurationMillis) * time.Millisecond
	unit := time.Second
	if took >= time.Hour {
		unit = time.Minute
	}
	noun, cost := "results", fmt.Sprintf("%.2f USD", r.CostUSD)
	if r.Steps == 1 {
		noun = "result"
	}
	if r.Unknown > 0 {
		cost += fmt.Sprintf(" and the unknown cost of %d", r.Unknown)
	}
	return fmt.Sprintf("would repeat %d %s: %s, %s", r.Steps, noun, took.Round(unit), cost)
}

// Plan predicts an apply, in dependency order: every step comes after its
// dependencies.
type Plan struct {
	Pipeline string `json:"pipeline,omitempty"`
	Steps    []Step `json:"steps"`
	// Repeats sums up the results that would be made again although nothing that a person
	// wrote differs. It is nil if there are none.
	Repeats *Repeats `json:"repeats,omitempty"`
	// Renamed are what has only another name than results that exist.
	Renamed []Rename `json:"renamed,omitempty"`
	// Publish has the paths to which results are written after the run.
	Publish []Publication `json:"publish,omitempty"`
	// Evaluation is the pipeline's evaluation, or nil if it has none.
	Evaluation *Evaluation `json:"evaluation,omitempty"`
	// Benchmarks are those of the pipeline, by name.
	Benchmarks []step.Benchmark `json:"benchmarks,omitempty"`
	// Forecast is the disk space that an apply needs, or nil if it was not
	// requested.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Copies are the copies made before steps start. It is nil if there are
	// none or they were not requested.
	Copies *Copies `json:"copies,omitempty"`
}

// Copies describes content that steps must copy before they start.
type Copies struct {
	// Copies is the number of copies. Files and Bytes are the amounts to write.
	// A file system that shares blocks writes no bytes.
	Copies int   `json:"copies"`
	Files  int64 `json:"files"`
	Bytes  int64 `json:"bytes"`
	// Unknown is the number of steps that copy content which does not exist
	// yet.
	Unknown int `json:"unknown,omitempty"`
	// Why is the reason, as half a sentence.
	Why string `json:"why"`
}

// Placing is the predicted effect on a path.
type Placing string

// The placings.
const (
	// Write: the path is empty.
	Write Placing = "write"
	// Replace: content that mleflow published there before is replaced.
	Replace Placing = "replace"
	// Unchanged: the path already has the content.
	Unchanged Placing = "unchanged"
	// Undecided: it depends on a step that runs.
	Undecided Placing = "deferred"
	// Refused: the path has content that mleflow did not write.
	Refused Placing = "refused"
)

// Publication is the plan for one path.
type Publication struct {
	// From is an address, an output of one, or output.NAME. To is the path as
	// written in the pipeline.
	From    string  `json:"from"`
	To      string  `json:"to"`
	Placing Placing `json:"action"`
	// Text explains a refusal. It also explains an undecided publication if the
	// cause is not its step.
	Text string `json:"text,omitempty"`
}

// Counts are the numbers of steps by action.
type Counts struct{ Run, Cached, Deferred, Unneeded int }

// Counts counts the steps by action.
func (p *Plan) Counts() Counts {
	var c Counts
	for i := range p.Steps {
		switch p.Steps[i].Action {
		case Run:
			c.Run++
		case Cached:
			c.Cached++
		case Deferred:
			c.Deferred++
		case Unneeded:
			c.Unneeded++
		}
	}
	return c
}

// Estimate is the disk space that one step will probably need.
type Estimate struct {
	// CacheBytes stay in the cache. PeakBytes are needed in addition while the
	// step runs.
	CacheBytes int64 `json:"cache_bytes"`
	PeakBytes  int64 `json:"peak_bytes"`
	// Files is the number of objects, or 0 if it is unknown.
	Files int64 `json:"files,omitempty"`
	// Basis describes the source of the numbers.
	Basis string `json:"basis,omitempty"`
	// Unknown means that the step has no estimate, so the numbers are too low.
	Unknown bool `json:"unknown,omitempty"`
}

// Verdict states whether there is enough space.
type Verdict string

// The verdicts.
const (
	// Fits: there is enough space in any order of the steps.
	Fits Verdict = "fits"
	// Waits: there is enough space because steps wait for each other.
	Waits Verdict = "waits"
	// Evicts: there is enough space if unpinned results are evicted.
	Evicts Verdict = "evicts"
	// TooLarge: there may be too little space for some step.
	TooLarge Verdict = "too large"
	// Unlimited: the available space is unknown.
	Unlimited Verdict = "unknown"
)

// Forecast is the disk space that a run will probably need. Deferred steps
// count as if they ran, and content already in the cache is not subtracted. The
// forecast is therefore an upper bound if the steps' estimates are.
type Forecast struct {
	// Steps is the number of steps counted. Unknown is the number of those
	// without an estimate.
	Steps   int `json:"steps"`
	Unknown int `json:"unknown,omitempty"`
	// CacheBytes and Files are the totals that the run adds to the cache.
	CacheBytes int64 `json:"cache_bytes"`
	Files      int64 `json:"files"`
	// PeakBytes is the maximum held at any moment, for any order and any
	// durations, if at most Parallel steps run at a time.
	PeakBytes int64 `json:"peak_bytes"`
	Parallel  int   `json:"parallel"`
	// PeakStep is the step that holds most of PeakBytes beyond the cache.
	PeakStep string `json:"peak_step,omitempty"`
	// NeedBytes suffices for all steps, in any order, if steps wait for each
	// other, as they do when space is short. NeedStep is the step that needs
	// it.
	NeedBytes int64  `json:"need_bytes"`
	NeedStep  string `json:"need_step,omitempty"`
	// Order lists the steps that need space, in the scheduler's order for one
	// step at a time. It has at most 1,000 elements.
	Order []Held `json:"order,omitempty"`
	Space Space  `json:"space"`
	// AvailableBytes can be added now. It is the rest of the disk or of the
	// quota, whichever is less, or -1 if neither is known.
	AvailableBytes int64   `json:"room_bytes"`
	Verdict        Verdict `json:"verdict"`
	// Warning describes the problem and the remedy, or is "" if there is none.
	Warning string `json:"warning,omitempty"`
}

// Held is a step of the serial order with the bytes held while it runs.
type Held struct {
	Name  string `json:"address"`
	Bytes int64  `json:"bytes"`
}

// Space is the space on the cache's disk.
type Space struct {
	// FreeBytes and FreeFiles are left on the file system. They are -1 if
	// unknown.
	FreeBytes int64 `json:"free_bytes"`
	FreeFiles int64 `json:"free_files"`
	// QuotaBytes is the cache's limit, or 0 if it has none. UsedBytes is its
	// size.
	QuotaBytes int64 `json:"quota_bytes"`
	UsedBytes  int64 `json:"used_bytes"`
}

// Spending is the possible spending of a plan's steps on one model. Its limits
// are per step.
type Spending struct {
	step.Spending
	// Steps is the number of steps that use the model.
	Steps int
}

// Most returns the maximum total cost, in billionths of a US dollar. ok is
// false if there is no limit.
func (s Spending) Most() (cost int64, ok bool) {
	all := s.Cost * int64(s.Steps)
	switch {
	case s.Replayed:
		return 0, true
	case s.Cost > 0 && s.RunCost > 0:
		return min(all, s.RunCost), true
	case s.Cost > 0:
		return all, true
	}
	return s.RunCost, s.RunCost > 0
}

// Spending returns the possible spending of the uncached steps, grouped by
// model and limits, in the order of the steps.
func (p *Plan) Spending() []Spending {
	var all []Spending
	index := map[string]int{}
	for i := range p.Steps {
		if p.Steps[i].Action == Cached {
			continue
		}
		for _, one := range p.Steps[i].Spending {
			key := fmt.Sprintf("%#v", one)
			at, found := index[key]
			if !found {
				at = len(all)
				index[key], all = at, append(all, Spending{Spending: one})
			}
			all[at].Steps++
		}
	}
	return all
}

// Remarks are texts about steps, each said once for all of them: those about the agents of
// a sweep may differ in the agent's name.
type Remarks []*remark

type remark struct {
	text, neutral string
	steps         int
	agents        map[string]bool
}

// Neutral is a text about a step without the name of its agent.
func Neutral(agent, text string) string {
	return strings.ReplaceAll(text, fmt.Sprintf("agent %q", agent), "the agent")
}

// Add adds a text about a step of an agent; either may be "".
func (r *Remarks) Add(agent, text string) {
	neutral := Neutral(agent, text)
	if text == "" {
		return
	}
	for _, known := range *r {
		if known.neutral == neutral {
			known.steps++
			known.agents[agent] = true
			return
		}
	}
	*r = append(*r, &remark{text, neutral, 1, map[string]bool{agent: true}})
}

// Each calls fn with each text, in the order in which they were added first, and with
// what it is whoever the agent is. Of several agents the text begins with their
// number: "24 attempts of 8 agents: …".
func (r Remarks) Each(fn func(text, neutral string)) {
	for _, m := range r {
		if n := len(m.agents); n > 1 {
			m.text = fmt.Sprintf("%d attempts of %d agents: %s", m.steps, n, m.neutral)
		}
		fn(m.text, m.neutral)
	}
}
