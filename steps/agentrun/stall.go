package agentrun

import (
	"context"
	"errors"
	"math"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine/step"
)

// stallArguments say when an attempt stands still and what follows.
type stallArguments struct {
	After   string `cty:"stalled_after" is:"cosmetic"`
	OnStall string `cty:"on_stall" is:"cosmetic"`
}

// The values of on_stall.
const (
	onStallNotify  = "notify"
	onStallStop    = "stop"
	onStallRequeue = "requeue"
)

// stallActs has what follows from a stall.
var stallActs = map[string]step.Act{onStallStop: step.Stop, onStallRequeue: step.Requeue}

func (a *attempt) checkStall() (err error) {
	a.stalledAfter, err = parseInterval(a.args.After)
	return step.WrongArg("stalled_after", err)
}

const (
	// stallEvery is the longest time between two looks.
	stallEvery = 30 * time.Second
	// busyPart is the part of a processor that an attempt at work uses at least. One that
	// waits in a loop uses less.
	busyPart = 0.01
	// mostDepth is how deep it goes, and walkTime how long it may take.
	mostDepth = 100
	walkTime  = 10 * time.Second
	// walkRest is how many times longer than the last visit the pause after it is.
	walkRest = 50
	// lookPart is the part of stalled_after that passes at most between two looks, and at
	// least between two visits without a sign of work between them.
	lookPart = 8
)

// mostEntries is the number of entries of the agent's folders that a look visits. What an
// agent with more does to its files is not known.
var mostEntries int64 = 500_000

// lastWrite is the time at which something was last written to it, in nanoseconds since
// 1970.
type lastWrite struct{ atomic.Int64 }

// Write implements io.Writer.
func (w *lastWrite) Write(p []byte) (int, error) {
	w.Store(time.Now().UnixNano())
	return len(p), nil
}

// stillness looks whether the agent works. It adds up the time in which no look found a
// sign of work, so that a clock that is set, or a machine that sleeps, changes nothing.
type stillness struct {
	*running
	every time.Duration
	// seen is the last measurement, printed the last output, called the last request to a
	// model, and files what the folders looked like, nil if nobody has looked since the
	// last sign of work.
	seen    measured
	printed int64
	called  time.Time
	files   *changes
	signs   step.Signs
	quiet   time.Duration
	stalled bool
	// next is the earliest time of the next visit of the folders, rested that of one after
	// a sign of work.
	next, rested time.Time
}

// measured is a measurement of what the agent uses.
type measured struct {
	at  time.Time
	cpu time.Duration
	gpu int64
}

// watchStall reports when the agent stands still, and when it works again, until ctx ends.
// Where the runtime does not measure processor time, nothing is known.
func (r *running) watchStall(ctx context.Context) {
	w := &stillness{running: r, every: min(stallEvery, r.stalledAfter/lookPart)}
	for progress.Sleep(ctx, w.every) == nil {
		if now := r.phases.measured(); now.at.After(w.seen.at) {
			w.look(ctx, now)
		}
	}
}

// look takes a measurement into account.
func (w *stillness) look(ctx context.Context, now measured) {
	gap, first := now.at.Sub(w.seen.at), w.seen.at.IsZero()
	works := w.working(now, gap)
	w.seen = now
	if first {
		return
	}
	visited := false
	if works {
		w.files, w.next = nil, w.rested
	} else {
		works, visited = w.changing(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if works {
		if w.quiet = 0; w.stalled {
			w.stalled = false
			w.tell(step.Stall{Over: true})
		}
		return
	}
	// A gap that is much longer than the pause is that of a machine that stood still itself.
	if w.quiet += min(gap, w.every+10*time.Second); w.quiet >= w.stalledAfter && visited && !w.stalled {
		w.stalled = true
		w.tell(step.Stall{Act: stallActs[w.args.OnStall]})
	}
}

// working reports whether the agent gave a sign of work since the last look, apart from its
// files.
func (w *stillness) working(now measured, gap time.Duration) (works bool) {
	used := now.cpu - w.seen.cpu // less is the end of a process
	if now.gpu > 0 || used < 0 || used.Seconds() >= busyPart*gap.Seconds() {
		w.signs.Processor, works = now.at.UTC(), true
	}
	if at := w.lastOutput.Load(); at != w.printed {
		w.printed, w.signs.Log, works = at, time.Unix(0, at).UTC(), true
	}
	if w.models != nil {
		if at, _ := w.models.gateway.Calls(); !at.Equal(w.called) {
			w.called, w.signs.Model, works = at, at.UTC(), true
		}
	}
	return works
}

// changing visits the agent's files, unless that was not long ago, and reports whether they
// have changed since the last visit, or cannot all be visited.
func (w *stillness) changing(ctx context.Context) (changed, visited bool) {
	began := time.Now()
	if began.Before(w.next) {
		return false, false
	}
	ctx, cancel := context.WithTimeout(ctx, walkTime)
	defer cancel()
	now, err := w.dirs.changes(ctx)
	end, rest := time.Now(), walkRest*time.Since(began)
	w.rested, w.next = end.Add(rest), end.Add(max(rest, w.stalledAfter/lookPart))
	if err != nil {
		return true, false
	}
	before := w.files
	if w.files = &now; before == nil {
		if at := time.Unix(0, now.last); at.After(w.start()) && at.Before(began) {
			w.signs.File = at.UTC()
		}
		return false, true
	}
	if *before == now {
		return false, true
	}
	w.signs.File = began.UTC()
	return true, true
}

// tell reports a stall or its end.
func (w *stillness) tell(s step.Stall) {
	s.Evidence, s.Since = w.signs, w.start().UTC()
	for _, at := range []time.Time{s.Evidence.Model, s.Evidence.Processor, s.Evidence.File, s.Evidence.Log} {
		if at.After(s.Since) {
			s.Since = at
		}
	}
	if s.Over {
		w.env.Note("the agent works again")
	} else {
		w.env.Note("the agent stands still: no request to a model, no processor time, no changed file and no output for %v", w.quiet.Round(time.Second))
	}
	w.env.Stalled(s)
}

// changes is what folders look like: the number of their entries, the sum of the times at
// which these last changed, and the last of them, in nanoseconds since 1970.
type changes struct {
	entries, sum, last int64
}

var errMany = errors.New("there are too many entries, or folders in each other")

// changes visits the folders of the agent without its data, at most mostEntries of them. It
// opens nothing but folders.
func (l layout) changes(ctx context.Context) (c changes, err error) {
	for _, at := range []string{l.home, l.tmp} {
		root, err := os.OpenRoot(at)
		if err != nil {
			return c, err
		}
		defer root.Close()
		for folders := []string{"."}; len(folders) > 0; {
			name := folders[len(folders)-1]
			inner, err := c.visit(ctx, root, name)
			if err != nil {
				return c, err
			}
			if folders = folders[:len(folders)-1]; name == "." && at == l.home { // all attempts share the data
				inner = lists.Where(inner, func(name string) bool { return name != "data" })
			}
			folders = append(folders, inner...)
		}
	}
	return c, nil
}

// visit adds the entries of a folder and returns those that are folders. A folder that has
// gone, or cannot be read, has none.
func (c *changes) visit(ctx context.Context, root *os.Root, name string) (inner []string, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil //nolint:nilerr // its own entry has changed if it has gone
	}
	defer f.Close()
	if strings.Count(name, "/") > mostDepth {
		return nil, errMany
	}
	for ctx.Err() == nil {
		names, err := f.Readdirnames(1000)
		for _, one := range names {
			if c.entries++; c.entries > mostEntries {
				return nil, errMany
			}
			var st unix.Stat_t
			if unix.Fstatat(int(f.Fd()), one, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			at := st.Ctim.Nano()
			c.sum, c.last = c.sum+at%math.MaxInt32, max(c.last, at)
			if uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR {
				inner = append(inner, path.Join(name, one))
			}
		}
		if err != nil {
			return inner, nil //nolint:nilerr // the end, or as above
		}
	}
	return nil, ctx.Err()
}
