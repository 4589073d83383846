package try

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
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
	// Requests delivers what people ask of the try. It may be nil.
	Requests <-chan step.Asked
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
		Progress: progress(t.Sink, t.Address), Phase: phase(t.Sink, t.Address), Warn: func(message string) {
			t.Sink.Emit(event.Warning{At: event.Now(), Address: t.Address, Message: message})
		},
		Limits: t.Args.Limits, Devices: t.Devices, RunID: t.RunID,
		Provisional: tries.End,
		Resumed:     func(times int) { tries.Resumes = times },
		Requests:    t.Requests,
		Steered: func(words []string) {
			tries.Steered = strings.TrimSpace(t.Tries.Steered + " " + strings.Join(words, " "))
		},
		Stalled: func(s step.Stall) {
			t.Sink.Emit(event.Stalled{At: event.Now(), Address: t.Address, Stall: s})
		},
		SecretIn: func(outputs []string) { tries.SecretIn = strings.Join(outputs, " ") },
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

// Lines returns a log that emits each complete line as an event of a step. It
// also writes everything to to, which may be nil.
func Lines(sink event.Sink, address string, to io.WriteCloser) io.WriteCloser {
	return &lines{sink: sink, address: address, to: to}
}

// lines implements Lines.
type lines struct {
	mu      sync.Mutex
	to      io.WriteCloser
	sink    event.Sink
	address string
	part    []byte
}

// maxLine is the maximum length of an emitted line. The log is not truncated.
const maxLine = 4096

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := p
	for {
		before, after, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok {
			break
		}
		l.emit(append(l.part, before...))
		l.part, rest = l.part[:0], after
	}
	if space := maxLine - len(l.part); space > 0 {
		l.part = append(l.part, rest[:min(space, len(rest))]...)
	}
	if l.to == nil {
		return len(p), nil
	}
	return l.to.Write(p)
}

func (l *lines) emit(line []byte) {
	text := strings.TrimSuffix(string(line[:min(len(line), maxLine)]), "\r")
	l.sink.Emit(event.StepLog{At: event.Now(), Address: l.address, Line: strings.ToValidUTF8(text, "\uFFFD")})
}

// Close implements io.Closer.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.emit(l.part)
	}
	if l.to == nil {
		return nil
	}
	return l.to.Close()
}

// progressEvery is the minimum interval between two reports of a step.
const progressEvery = 100 * time.Millisecond

// limited passes on reports to emit, ten a second at most, and those that matter.
func limited[T any](matters func(p *T) bool, emit func(T)) func(T) {
	var mu sync.Mutex
	var last time.Time
	return func(p T) {
		mu.Lock()
		defer mu.Unlock()
		if !matters(&p) && time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		emit(p)
	}
}

// progress limits a step's reports. It always passes on the last report of each piece of
// work.
func progress(sink event.Sink, address string) func(step.Progress) {
	return limited(func(p *step.Progress) bool {
		if p.Done > p.Total {
			p.Total = 0 // the total was an estimate that was too low
		}
		if p.Bytes > p.TotalBytes {
			p.TotalBytes = 0
		}
		return p.Total > 0 && p.Done >= p.Total
	}, func(p step.Progress) {
		sink.Emit(event.StepProgress{At: event.Now(), Address: address, Progress: p})
	})
}

// phase limits a step's reports about a phase, but passes on every change.
func phase(sink event.Sink, address string) func(step.Phase) {
	var before step.Phase
	return limited(func(p *step.Phase) bool { return p.Turn(before) }, func(p step.Phase) {
		before = p
		sink.Emit(event.StepPhase{At: event.Now(), Address: address, Phase: p})
	})
}
