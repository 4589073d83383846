package agentrun

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

const (
	// hostFolder and modelsFolder are the folders of mleflow's own files in a
	// checkpoint, printedFile the agent's output so far, in hostFolder.
	hostFolder, modelsFolder, printedFile = "host", "models", "printed.log"

	// Files are read while the agent runs until a pass reads at most fewBytes, or no longer
	// half of the one before. The agent is frozen for the last pass.
	fewBytes = 16 << 20
	// askPause is the shortest time between two checkpoints that the agent asks for.
	askPause = 10 * time.Second
	// requestFile is the file, in the home, by which the agent asks for a checkpoint. It
	// is looked for every askPoll, and removed once the checkpoint is taken.
	requestFile = "agent/checkpoint.request"
	askPoll     = time.Second / 2
	// lastTime limits the checkpoint after an interruption.
	lastTime = 25 * time.Second
	// pruneRest is how many times as long as removing superseded checkpoints took the
	// pause after it is: it goes through all records of the cache.
	pruneRest = 20
)

var pointCaps = caps{entries: 1_000_000, depth: 64}

// checkpoints takes the checkpoints of an attempt. Without on_loss it does nothing.
type checkpoints struct {
	resumption
	// again means that the result is not final: the attempt will run again.
	again bool

	// turn is held while a checkpoint is taken. The last one was taken at taken, and
	// lacked what lacked names.
	turn   sync.Mutex
	lacked []string
	taken  time.Time
	memo   *checkpoint.Memo
	grown  checkpoint.Growing
	freeze func(context.Context) (thaw func(), err error)
	// idle is the time until which superseded checkpoints stay.
	idle time.Time
	// printed is the agent's output.
	printed *printed
}

// printed is the agent's output, which can be read while it is written.
type printed struct {
	mu sync.Mutex
	cache.Ingest
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Ingest.Write(b)
}

// printedTo returns the writer for the agent's output, after the output until the
// checkpoint from which the attempt went on.
func (c *checkpoints) printedTo(ctx context.Context, kept cache.Ingest) (io.Writer, error) {
	c.printed = &printed{Ingest: kept}
	before, err := nolink.Open(filepath.Join(c.dirs.host, printedFile))
	if errors.Is(err, os.ErrNotExist) {
		return c.printed, nil
	}
	if err != nil {
		return nil, err
	}
	defer before.Close()
	_, err = cache.Copy(ctx, c.printed, before)
	return c.printed, err
}

// freezer keeps the function that freezes the agent.
func (c *checkpoints) freezer(freeze func(context.Context) (func(), error)) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.freeze = freeze
}

// run takes checkpoints until ctx ends: at intervals, and when the agent makes
// requestFile.
func (c *checkpoints) run(ctx context.Context) {
	if c.durable.onLoss == "" {
		return
	}
	began := time.Now()
	due, free := began.Add(c.durable.every), began
	for {
		if progress.Sleep(ctx, min(askPoll, time.Until(due))) != nil {
			return
		}
		why, now := checkpoint.Interval, time.Now()
		asked := now.After(free) && c.requested()
		if asked {
			why = checkpoint.Asked
		} else if now.Before(due) {
			continue
		}
		c.turn.Lock()
		_, err := c.take(ctx, why)
		c.turn.Unlock()
		if asked {
			free = time.Now().Add(askPause)
		}
		if err == nil && asked {
			err = c.answer()
		}
		if err != nil && ctx.Err() == nil {
			c.env.Note("no checkpoint: %v", c.mask.Error(err))
		}
		due = time.Now().Add(c.durable.every)
	}
}

// requested reports whether requestFile is there.
func (c *checkpoints) requested() bool {
	home, err := os.OpenRoot(c.dirs.home)
	if err != nil {
		return false
	}
	defer home.Close()
	info, err := home.Lstat(requestFile)
	return err == nil && info.Mode().IsRegular()
}

// answer removes requestFile.
func (c *checkpoints) answer() error {
	home, err := os.OpenRoot(c.dirs.home)
	if err != nil {
		return err
	}
	defer home.Close()
	return home.Remove(requestFile)
}

// asker takes a checkpoint that the agent asks for.
func (c *checkpoints) asker() func(context.Context) (any, error) {
	if c.durable.onLoss == "" {
		return nil
	}
	return func(ctx context.Context) (any, error) {
		if !c.turn.TryLock() {
			return nil, validity.ErrBusy
		}
		defer c.turn.Unlock()
		if time.Since(c.taken) < askPause {
			return nil, validity.ErrBusy
		}
		n, err := c.take(ctx, checkpoint.Asked)
		if err != nil {
			return nil, err
		}
		return struct {
			Checkpoint int     `json:"checkpoint"`
			Elapsed    float64 `json:"elapsed_seconds"`
		}{n.Number, n.Used.Seconds()}, nil
	}
}

// last takes a checkpoint of an interrupted attempt whose agent was stopped or is left,
// and waits until other machines can find it.
func (c *checkpoints) last(ctx context.Context) {
	if c.durable.onLoss == "" || ctx.Err() == nil {
		return
	}
	why := checkpoint.Interrupted
	if c.leaves(ctx) {
		why = checkpoint.Left
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	c.turn.Lock()
	defer c.turn.Unlock()
	n, err := c.take(ctx, why)
	if err != nil {
		c.env.Note("no checkpoint: %v", c.mask.Error(err))
		return
	}
	c.env.Note("checkpoint %d is taken, after %v of the attempt; if its agent is gone, the next apply %s", n.Number, n.Used.Round(time.Second), c.next())
	if c.env.Store.Finish(ctx) > 0 {
		c.env.Note("checkpoint %d is on this machine only", n.Number)
	}
}

// end drops the checkpoints of an attempt that has its result.
func (c *checkpoints) end(ctx context.Context, result cache.Outputs) {
	if c.number == 0 {
		return
	}
	if c.again {
		result = nil
	}
	ctx = cache.WithDrafts(ctx, c)
	if err := c.where.End(ctx, result); err != nil {
		c.env.Note("drop checkpoints: %v", err)
	}
	c.idle = time.Time{}
	c.prune(ctx)
}

// prune removes what only superseded checkpoints and those that failed have.
func (c *checkpoints) prune(ctx context.Context) {
	began := time.Now()
	if began.Before(c.idle) {
		return
	}
	gone, err := c.env.Store.Prune(ctx)
	if err != nil && ctx.Err() == nil {
		c.env.Note("superseded checkpoints stay until the cache is collected: %v", err)
	}
	c.memo.Forget(gone)
	c.grown.Forget(gone)
	c.idle = time.Now().Add(pruneRest * time.Since(began))
}

// take takes a checkpoint, and then drops the one before.
func (c *checkpoints) take(ctx context.Context, why string) (*checkpoint.Checkpoint, error) {
	ctx = cache.WithDrafts(ctx, c)
	n, err := c.whole(ctx, why)
	if why == checkpoint.Interval || why == checkpoint.Asked {
		c.prune(ctx)
	}
	return n, err
}

// whole takes a checkpoint and makes it the latest.
func (c *checkpoints) whole(ctx context.Context, why string) (*checkpoint.Checkpoint, error) {
	files, bytes := c.memo.Counts()
	n := &checkpoint.Checkpoint{Manifest: checkpoint.Manifest{Number: c.number + 1, Resumes: c.resumes, Adopted: c.adopted, Why: why, Taken: time.Now().UTC(), Origin: c.origin()}}
	if why != checkpoint.Interrupted {
		if err := c.ahead(ctx); err != nil {
			return nil, err
		}
	}
	err := c.files(ctx, n)
	if err == nil {
		err = c.state(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	n.ReadFiles, n.ReadBytes = c.memo.Counts()
	n.ReadFiles, n.ReadBytes = n.ReadFiles-files, n.ReadBytes-bytes
	if err := c.save(ctx, n); err != nil {
		return nil, err
	}
	c.number, c.taken = n.Number, time.Now()
	c.tell(n)
	return n, nil
}

// save makes a checkpoint the latest. With checkpoint_keep, the first of each such part
// of the attempt's time stays.
func (c *checkpoints) save(ctx context.Context, n *checkpoint.Checkpoint) error {
	var last time.Duration
	if len(c.kept) > 0 {
		last = c.kept[len(c.kept)-1]
	}
	if keep := c.durable.keep; keep > 0 && n.Second()/keep > last/keep {
		if err := c.where.Keep(ctx, n); err != nil {
			return err
		}
		c.kept = append(c.kept, n.Second())
	}
	n.Kept = c.kept
	return c.where.Save(ctx, n)
}

// tell logs a checkpoint, and what it lacks if that has changed.
func (c *checkpoints) tell(n *checkpoint.Checkpoint) {
	if !slices.Equal(c.lacked, n.LeftOut) {
		for _, left := range n.LeftOut {
			c.env.Note("not in checkpoint %d: %s", n.Number, left)
		}
	}
	c.lacked = n.LeftOut
	if n.Why == checkpoint.Interrupted {
		return // last says so
	}
	asked := ""
	if n.Why == checkpoint.Asked {
		asked = ", at the agent's request"
	}
	c.env.Note("checkpoint %d after %v%s: %s, read %s; the agent stood still for %v",
		n.Number, n.Used.Round(time.Second), asked, amount(n.Files.Files, n.Files.Size), amount(n.ReadFiles, n.ReadBytes), n.Frozen.Round(time.Millisecond))
}

// ahead reads files while the agent runs, until few change meanwhile.
func (c *checkpoints) ahead(ctx context.Context) error {
	for last := int64(math.MaxInt64); ; {
		_, before := c.memo.Counts()
		if _, err := c.read(ctx, nil, 1); err != nil {
			return err
		}
		_, after := c.memo.Counts()
		if now := after - before; now <= fewBytes || now > last/2 {
			return nil
		}
		last = after - before
	}
}

// files stores the agent's folders.
func (c *checkpoints) files(ctx context.Context, n *checkpoint.Checkpoint) error {
	f, err := c.still(ctx, n)
	if err != nil {
		return err
	}
	for _, rest := range f.later {
		err = errors.Join(err, rest(ctx))
	}
	if err != nil {
		return err
	}
	n.LeftOut = f.left()
	if n.Files, err = f.b.Build(ctx, c.env.Store); err != nil {
		return err
	}
	n.Details, err = f.details.Put(ctx, c.env.Store)
	return err
}

// still reads the files that have changed, while the agent stands still.
func (c *checkpoints) still(ctx context.Context, n *checkpoint.Checkpoint) (read, error) {
	n.Consistent = n.Why == checkpoint.Interrupted
	if c.freeze != nil && !n.Consistent {
		began := time.Now()
		thaw, err := c.freeze(ctx)
		if n.Consistent = err == nil; n.Consistent {
			defer func() { thaw(); n.Frozen = time.Since(began) }()
		}
	}
	n.Used = c.used()
	if !n.Consistent {
		return c.read(ctx, nil, snapshotTries)
	}
	return c.read(ctx, func(src *os.File) *os.File { return checkpoint.Clone(filepath.Dir(c.dirs.home), src) }, 1)
}

// read are the agent's folders once they are read.
type read struct {
	*harvester
	b *tree.Builder
}

// read reads the agent's folders. Files that have not changed are known; one that changes
// while it is read is read again, up to a number of tries. Large ones are cloned, if clone
// is not nil, to be read later.
func (c *checkpoints) read(ctx context.Context, clone func(*os.File) *os.File, tries int) (read, error) {
	home, err := os.OpenRoot(c.dirs.home)
	if err != nil {
		return read{}, err
	}
	defer home.Close()
	h := &harvester{
		store: c.env.Store, mask: c.mask, budget: c.durable.limit, live: true, memo: c.memo, tries: tries, clone: clone,
		details: &checkpoint.Details{}, taken: func(int64) {},
	}
	b := tree.NewBuilder(c.env.Store)
	for _, name := range []string{"submission", "code", "logs", "agent"} {
		k := kept{name: name, caps: pointCaps}
		k.caps.bytes = c.durable.limit
		if err := b.AddDir(name); err != nil {
			return read{}, err
		}
		if _, err := h.harvest(ctx, home, k, b); err != nil {
			return read{}, err
		}
	}
	return read{h, b}, nil
}

// state stores the journals, the output, the budget, the transcript and the snapshots.
// It follows the files, so that nothing that the agent knows of is missing.
func (c *checkpoints) state(ctx context.Context, n *checkpoint.Checkpoint) (err error) {
	var b tree.Builder
	for _, name := range []string{validationsFile, connectionsFile, evidenceFile, snapshotsFile, codesFile} {
		if err := c.grown.AddFile(ctx, c.env.Store, &b, hostFolder+"/"+name, filepath.Join(c.dirs.host, name)); err != nil {
			return err
		}
	}
	for _, name := range c.models.files() {
		if err := c.grown.AddFile(ctx, c.env.Store, &b, modelsFolder+"/"+name, filepath.Join(c.models.dir, name)); err != nil {
			return err
		}
	}
	for _, name := range c.queryFiles() {
		if err := c.grown.AddFile(ctx, c.env.Store, &b, queriesFolder+"/"+name, filepath.Join(c.queried, name)); err != nil {
			return err
		}
	}
	c.printed.mu.Lock()
	err = c.grown.Add(ctx, c.env.Store, &b, hostFolder+"/"+printedFile, c.printed, c.printed.Offset())
	c.printed.mu.Unlock()
	if err != nil {
		return err
	}
	if n.State, err = b.Build(ctx, c.env.Store); err != nil {
		return err
	}
	if n.Snapshots, err = c.shotsTree(ctx, snapshotsFile, submissionShot); err == nil {
		n.Codes, err = c.shotsTree(ctx, codesFile, "")
	}
	return err
}

// shotsTree builds a tree of the snapshots in a list.
func (c *checkpoints) shotsTree(ctx context.Context, list, below string) (cache.Ref, error) {
	data, err := nolink.ReadFile(filepath.Join(c.dirs.host, list))
	if errors.Is(err, os.ErrNotExist) {
		return cache.Ref{}, nil
	}
	if err != nil {
		return cache.Ref{}, err
	}
	s := shots{list: parseShots(data), below: below}
	return s.tree(ctx, c.env.Store)
}
