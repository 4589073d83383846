package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Kind is the kind of the records of checkpoints, and version that of their format.
const (
	Kind    = "checkpoint"
	version = "1"
)

// Manifest describes a checkpoint.
type Manifest struct {
	// Number counts the checkpoints of the attempt, from 1. Resumes counts how often the
	// attempt had gone on from one.
	Number  int `json:"number"`
	Resumes int `json:"resumes,omitempty"`
	// Adopted is how often a later process has continued with the running agent.
	Adopted int `json:"adopted,omitempty"`
	// Ended means that the attempt has its result, so that nothing is left to resume.
	Ended bool `json:"ended,omitempty"`
	// Why is the reason for the checkpoint: Interval, Asked, Interrupted or Left.
	Why   string    `json:"why,omitempty"`
	Taken time.Time `json:"taken"`
	// Used is the part of the time limit that the agent has used.
	Used time.Duration `json:"used_ns"`
	// Consistent means that the agent did not run while its files were read for the
	// last time. Frozen is the time for which it was stopped.
	Consistent bool          `json:"consistent"`
	Frozen     time.Duration `json:"frozen_ns,omitempty"`
	// Read counts the files that were read because they had changed, and their bytes.
	ReadFiles int64 `json:"read_files"`
	ReadBytes int64 `json:"read_bytes"`
	// LeftOut lists the files that it lacks, with reasons.
	LeftOut []string `json:"left_out,omitempty"`
	// Kept lists the times used, in whole seconds, of the checkpoints that stay.
	Kept []time.Duration `json:"kept_ns,omitempty"`
	// Origin says where the files come from.
	Origin
}

// Origin is what a fork must have in common with the attempt from which it begins.
type Origin struct {
	// Competition is its identifier and version, Isolation that of the agent.
	Competition string `json:"competition,omitempty"`
	Isolation   string `json:"isolation,omitempty"`
}

// Second is the time used in whole seconds, by which a checkpoint that stays is found.
func (m *Manifest) Second() time.Duration { return m.Used.Round(time.Second) }

// The reasons for a checkpoint. With Interrupted, the agent has ended; with Left, it goes
// on without mleflow.
const (
	Interval    = "interval"
	Asked       = "asked"
	Interrupted = "interrupted"
	Left        = "left"
)

// Checkpoint is the state of an attempt; see the package comment.
type Checkpoint struct {
	Manifest
	Files, Details, State, Snapshots, Codes cache.Ref
	// Result has the outputs of an attempt that has ended, if they are final.
	Result cache.Outputs
}

// resultPrefix begins the names of the attempt's own outputs.
const resultPrefix = "result/"

// outputs returns the content by the name of the output.
func (c *Checkpoint) outputs() map[string]*cache.Ref {
	return map[string]*cache.Ref{
		"files": &c.Files, "details": &c.Details, "gates": &c.State, "snapshots": &c.Snapshots, "code_snapshots": &c.Codes,
	}
}

// Records is the part of a cache that finds and keeps checkpoints.
type Records interface {
	Latest(ctx context.Context, id digest.ActionID) (*cache.Record, error)
	Record(ctx context.Context, rec *cache.Record) error
	Sync(ctx context.Context) error
}

// Place is where the checkpoints of an attempt are.
type Place struct {
	Cache Records
	// Attempt is the action. Address and Run appear in the record.
	Attempt      digest.ActionID
	Address, Run string
}

// key returns the key of the latest checkpoint, or of the one that stays after a time.
func (p Place) key(at *time.Duration) *digest.Hasher {
	h := digest.NewHasher(Kind, version)
	h.String("attempt", p.Attempt.String())
	if at != nil {
		h.String("after", at.String())
	}
	return h
}

// Find returns the latest checkpoint, or nil if there is none. It may be an ended one.
func (p Place) Find(ctx context.Context) (*Checkpoint, error) { return p.find(ctx, p.key(nil)) }

// At returns the checkpoint that stays after a time in whole seconds, or nil.
func (p Place) At(ctx context.Context, at time.Duration) (*Checkpoint, error) {
	return p.find(ctx, p.key(&at))
}

func (p Place) find(ctx context.Context, key *digest.Hasher) (*Checkpoint, error) {
	rec, err := p.Cache.Latest(ctx, key.Sum())
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find checkpoint: %w", err)
	}
	var c Checkpoint
	if err := json.Unmarshal(rec.Outputs["manifest"].JSON, &c.Manifest); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	for name, ref := range c.outputs() {
		*ref = rec.Outputs[name].Ref
	}
	c.Result = cache.Outputs{}
	for name, v := range rec.Outputs {
		if name, ok := strings.CutPrefix(name, resultPrefix); ok {
			c.Result[name] = v
		}
	}
	return &c, nil
}

// Save makes c the latest checkpoint.
func (p Place) Save(ctx context.Context, c *Checkpoint) error { return p.save(ctx, c, p.key(nil)) }

// Keep lets c stay, whatever becomes of the attempt.
func (p Place) Keep(ctx context.Context, c *Checkpoint) error {
	at := c.Second()
	return p.save(ctx, c, p.key(&at))
}

func (p Place) save(ctx context.Context, c *Checkpoint, key *digest.Hasher) error {
	text, err := json.Marshal(c.Manifest)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	rec := &cache.Record{
		Action: key.Sum(), Address: p.Address, Kind: Kind, Fields: key.Fields(), Run: p.Run,
		Outputs:          cache.Outputs{"manifest": {JSON: text}},
		StartedUnixMilli: c.Taken.UnixMilli(), Tries: cache.Tries{Earlier: c.Number - 1},
	}
	for name, ref := range c.outputs() {
		if !ref.IsZero() {
			rec.Outputs[name] = cache.Value{Ref: *ref}
		}
	}
	for name, v := range c.Result {
		rec.Outputs[resultPrefix+name] = v
	}
	// The record replaces the last checkpoint, which counts until all of this one is on
	// the disk.
	if err = p.sync(ctx, c.Why); err == nil {
		err = p.Cache.Record(ctx, rec)
	}
	if err == nil {
		err = p.sync(ctx, c.Why)
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return nil
}

// hurriedSync is how long the checkpoint of an interrupted attempt waits for the disk. If
// the machine is being taken away, the remote cache counts.
const hurriedSync = 4 * time.Second

func (p Place) sync(ctx context.Context, why string) error {
	if why != Interrupted && why != Left {
		return p.Cache.Sync(ctx)
	}
	hurried, cancel := context.WithTimeout(ctx, hurriedSync)
	defer cancel()
	if err := p.Cache.Sync(hurried); hurried.Err() == nil {
		return err
	}
	return ctx.Err()
}

// End replaces the checkpoints of an attempt that has its result by the result, nil if
// the attempt will run again. Without checkpoints it does nothing.
func (p Place) End(ctx context.Context, result cache.Outputs) error {
	c, err := p.Find(ctx)
	if c == nil || c.Ended || err != nil {
		return err
	}
	return p.Save(ctx, &Checkpoint{Manifest: Manifest{Number: c.Number + 1, Resumes: c.Resumes, Adopted: c.Adopted, Ended: true, Taken: time.Now().UTC(), Used: c.Used, Kept: c.Kept, Origin: c.Origin}, Result: result})
}

// Fork names the checkpoint from which another attempt begins.
type Fork struct {
	// Attempt is the action of the first attempt, At the time that it had used.
	Attempt digest.ActionID
	At      time.Duration
}

// ParseFork reads "KEY@TIME".
func ParseFork(text string) (*Fork, error) {
	key, at, _ := strings.Cut(text, "@")
	id, err := digest.ParseActionID(key)
	if err != nil {
		return nil, fmt.Errorf("%q is not KEY@TIME with the key of an attempt: %w", text, err)
	}
	f := &Fork{Attempt: id}
	if f.At, err = time.ParseDuration(at); err != nil || f.At < 0 || f.At%time.Second != 0 {
		return nil, fmt.Errorf("%q is not KEY@TIME with a time in whole seconds such as 6h10m0s", text)
	}
	return f, nil
}

// String is what ParseFork reads.
func (f *Fork) String() string { return f.Attempt.String() + "@" + f.At.String() }

// Find returns the checkpoint.
func (f *Fork) Find(ctx context.Context, p Place) (*Checkpoint, error) {
	p.Attempt = f.Attempt
	c, err := p.At(ctx, f.At)
	if c == nil && err == nil {
		err = fmt.Errorf("there is no checkpoint %s: %s", f, p.has(ctx))
	}
	return c, err
}

// has says which checkpoints an attempt has.
func (p Place) has(ctx context.Context) string {
	c, err := p.Find(ctx)
	if c == nil || err != nil {
		return "the attempt has no checkpoint; on_loss of its agent-run writes some"
	}
	times := c.Kept
	if !c.Ended {
		times = append(times, c.Second())
	}
	if len(times) == 0 {
		return "the attempt has ended, and kept none; checkpoint_keep keeps some"
	}
	return "the attempt has those after " + strings.Trim(fmt.Sprint(times), "[]")
}

// Choose finds the checkpoint of an attempt that is nearest to a time, and lets it stay.
func (p Place) Choose(ctx context.Context, at time.Duration) (*Fork, error) {
	latest, err := p.Find(ctx)
	if err != nil {
		return nil, err
	}
	if latest == nil {
		latest = &Checkpoint{Manifest: Manifest{Ended: true}}
	}
	var best *Checkpoint
	if !latest.Ended {
		best = latest
	}
	for _, kept := range latest.Kept {
		if best != nil && (best.Used-at).Abs() <= (kept-at).Abs() {
			continue
		}
		c, err := p.At(ctx, kept)
		if err != nil {
			return nil, err
		}
		if c != nil {
			best = c
		}
	}
	if best == nil {
		return nil, fmt.Errorf("nothing to fork: %s", p.has(ctx))
	}
	return &Fork{p.Attempt, best.Second()}, p.Keep(ctx, best)
}
