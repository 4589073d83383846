package try

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// Try is one try at a step.
type Try struct {
	Kind *step.Kind
	Args step.Args
	// Action is the step's key. Fields are the fields of the key.
	Action digest.ActionID
	Fields []digest.Field
	// Address, Number (from 1), RunID and Devices become part of its
	// environment.
	Address string
	Number  int
	RunID   string
	Devices []string
	// Tries counts the earlier tries, as recorded with a final result.
	Tries cache.Tries
	Cache cache.Cache
	// Sink receives the step's reports. It must be safe for concurrent use.
	Sink event.Sink
	// Log receives the step's output in addition to the Sink. It is closed at
	// the end. It may be nil.
	Log io.WriteCloser
}

// Run runs the step and returns the record of its result. The content is in the
// cache, but the record is not saved yet.
func (t *Try) Run(ctx context.Context) (rec *cache.Record, err error) {
	log := Lines(t.Sink, t.Address, t.Log)
	defer func() { err = errors.Join(err, log.Close()) }()
	dir, err := t.Cache.TempDir("step-" + t.Action.Short())
	if err != nil {
		return nil, fmt.Errorf("make work folder: %w", err)
	}
	defer func() { err = errors.Join(err, tree.Remove(dir)) }()
	s, err := t.Kind.New(t.Args)
	if err != nil {
		return nil, err
	}
	if err := StoreLocal(ctx, t.Cache, t.Args); err != nil {
		return nil, err
	}
	started, tries := time.Now(), t.Tries
	if t.Kind.Varies {
		tries.GPU = sched.NewProbe("/").Models(t.Devices)
	}
	outputs, err := Protect(ctx, s, &step.Env{
		Address: t.Address, Try: t.Number, Action: t.Action, Store: t.Cache, WorkDir: dir, Log: log,
		Progress: progress(t.Sink, t.Address), Phase: phase(t.Sink, t.Address), Warn: warn(t.Sink, t.Address),
		Limits: t.Args.Limits, Devices: t.Devices, RunID: t.RunID,
		Provisional: tries.End,
		Resumed:     func(times int) { tries.Resumes = times },
		SecretIn:    func(outputs []string) { tries.SecretIn = strings.Join(outputs, " ") },
	})
	if err != nil {
		return nil, err
	}
	if err := t.Kind.CheckOutputs(outputs); err != nil {
		return nil, fmt.Errorf("the result of the step is wrong: %w (this is a bug in the step kind %s)", err, t.Kind.Name)
	}
	if err := checkFiles(ctx, t.Cache, outputs); err != nil {
		return nil, err
	}
	return &cache.Record{
		Action: t.Action, Address: t.Address, Kind: t.Kind.Name, Fields: t.Fields, Outputs: outputs, Run: t.RunID,
		StartedUnixMilli: started.UnixMilli(), DurationMillis: time.Since(started).Milliseconds(), Tries: tries,
	}, nil
}

// StoreLocal stores the local files among arguments.
func StoreLocal(ctx context.Context, store cache.Building, args step.Args) error {
	return args.EachArtifact(func(c *step.Artifact) error {
		if c.Local == nil {
			return nil
		}
		return c.Local.Store(ctx, store)
	})
}

// checkFiles refuses an output that is a file but has the digest of a tree: steps that
// read it would have the key of those that read the tree.
func checkFiles(ctx context.Context, store cache.Store, outputs cache.Outputs) error {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if outputs[name].Ref.Kind != cache.Blob {
			continue
		}
		r, err := store.Open(ctx, outputs[name].Ref.ID)
		if err != nil {
			return fmt.Errorf("read output %q: %w", name, err)
		}
		is, err := tree.IsEncoding(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("read output %q: %w", name, err)
		}
		if is {
			return fmt.Errorf("the output %q is a folder as mleflow's cache encodes it, which no step may give as a file; give the folder itself, or compress the file", name)
		}
	}
	return nil
}

// Protect runs a step and turns a panic into an error, so that a broken kind
// does not stop the other steps of the run.
func Protect(ctx context.Context, s step.Step, env *step.Env) (out cache.Outputs, err error) {
	err = crash.Do(func() error {
		out, err = s.Run(ctx, env)
		return err
	})
	if bug := (*crash.Error)(nil); errors.As(err, &bug) {
		fmt.Fprintf(env.Log, "%v\n%s", bug, bug.Stack)
	}
	return out, err
}
