package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

// The values of on_loss.
const (
	onLossResume  = "resume"
	onLossRestart = "restart"
	onLossFail    = "fail"
)

// durable are the arguments of the checkpoints.
type durable struct {
	// onLoss is "" without checkpoints.
	onLoss string
	every  time.Duration
	limit  int64
	// keep is the part of the time of which a checkpoint stays; 0 keeps none.
	keep time.Duration
	// fork is the checkpoint of another attempt from which this one begins; nil is none.
	fork *checkpoint.Fork
}

// checkDurable parses the arguments of the checkpoints.
func (a *attempt) checkDurable() (err error) {
	d := &a.durable
	if err := d.checkFork(a.args); err != nil {
		return err
	}
	switch d.onLoss = text(a.args.OnLoss); {
	case d.fork != nil && d.onLoss == "":
		d.onLoss = onLossResume
	case len(a.args.Resume) > 0 && d.onLoss == "":
		d.onLoss = onLossResume
	case len(a.args.Resume) > 0 && d.onLoss != onLossResume:
		return step.WrongArg("resume", fmt.Errorf("on_loss = %q never uses it; write on_loss = %q, or leave it out", d.onLoss, onLossResume))
	}
	if d.every, err = parseDuration(a.args.PointEvery); err == nil && d.every < shortestInterval {
		err = fmt.Errorf("every %v is too often; the shortest interval is %v", d.every, shortestInterval)
	}
	if err != nil {
		return step.WrongArg("checkpoint_every", err)
	}
	d.limit, err = step.ParseSize(a.args.PointLimit)
	return step.WrongArg("checkpoint_limit", err)
}

// checkFork parses the arguments of the checkpoints that stay.
func (d *durable) checkFork(args arguments) (err error) {
	if d.keep, err = parseDuration(text(args.PointKeep)); err != nil {
		return step.WrongArg("checkpoint_keep", err)
	}
	if args.Fork != nil {
		d.fork, err = checkpoint.ParseFork(*args.Fork)
	}
	return step.WrongArg("fork", err)
}

// OnLoss implements step.Durable.
func (a *attempt) OnLoss() string {
	switch d := a.durable; d.onLoss {
	case onLossResume:
		return fmt.Sprintf("would go on from the last checkpoint, of every %v", d.every)
	case onLossRestart:
		return fmt.Sprintf("would start from the beginning with the time that is left, counted every %v", d.every)
	case onLossFail:
		return "would fail"
	}
	return ""
}

// errLost is the error of an attempt with on_loss = "fail".
var errLost = errors.New(`the attempt was lost, and on_loss is "fail": write "resume" or "restart" to go on; its checkpoint stays`)

// find finds the latest checkpoint of the action. An attempt that has not its result,
// and whose agent is gone, goes on from there.
func (c *checkpoints) find(ctx context.Context, action digest.ActionID) error {
	if c.durable.onLoss == "" {
		return nil
	}
	c.where = checkpoint.Place{Cache: c.env.Store, Attempt: action, Address: c.env.Address, Run: c.env.RunID}
	latest, err := c.where.Find(ctx)
	if latest == nil || err != nil {
		return errors.Join(err, c.branch(ctx))
	}
	c.number, c.kept = latest.Number, latest.Kept
	switch {
	case c.continued:
		return nil
	case latest.Ended:
		return c.unrecorded(ctx, action, latest)
	case c.durable.onLoss == onLossFail:
		return errLost
	}
	c.from, c.before, c.resumes = latest, latest.Used, latest.Resumes+1
	return nil
}

// unrecorded finds the result of an attempt that ended, unless it was recorded or
// dropped since: then the attempt is to run again.
func (c *checkpoints) unrecorded(ctx context.Context, action digest.ActionID, latest *checkpoint.Checkpoint) error {
	store := c.env.Store
	_, err := store.Latest(ctx, action)
	_, dropErr := store.Evicted(ctx, action)
	if len(latest.Result) == 0 || !errors.Is(err, cache.ErrNotFound) || !errors.Is(dropErr, cache.ErrNotFound) {
		return nil
	}
	for _, v := range latest.Result {
		if !v.Ref.IsZero() && !has(ctx, store, v.Ref) {
			return nil
		}
	}
	c.env.Note("the attempt had ended, and its result was not recorded: this is the result")
	c.resumes, c.result = latest.Resumes, latest.Result
	return nil
}

// branch finds the checkpoint of the other attempt from which a fork begins.
func (c *checkpoints) branch(ctx context.Context) error {
	if c.durable.fork == nil || c.continued {
		return nil
	}
	from, err := c.durable.fork.Find(ctx, c.where)
	if err != nil {
		return err
	}
	own := c.origin()
	switch {
	case from.Competition != own.Competition:
		return fmt.Errorf("the attempt of %s was at %s, not at %s", c.durable.fork, from.Competition, own.Competition)
	case !conditions.AtLeast(from.Isolation, own.Isolation):
		return fmt.Errorf("the attempt of %s had the isolation %q: a fork with more, %q, would hide that its files may have the answers", c.durable.fork, from.Isolation, own.Isolation)
	case c.given > 0 && from.Used >= c.given:
		return fmt.Errorf("the attempt of %s had used %v; the time limit of the fork, which counts from the beginning, is %v", c.durable.fork, from.Second(), c.given)
	}
	c.from, c.before, c.resumes, c.forked = from, from.Used, from.Resumes+1, true
	return nil
}

// origin is the origin of the attempt's files.
func (c *checkpoints) origin() checkpoint.Origin {
	return checkpoint.Origin{Competition: c.args.Competition + " " + c.args.Version, Isolation: c.args.isolation(c.runtime)}
}

// resumed reports whether the agent goes on with the files of a checkpoint.
func (c *checkpoints) resumed() bool {
	return c.from != nil && (c.forked || c.durable.onLoss == onLossResume)
}

// goesOn reports whether the agent does not begin from the beginning.
func (c *checkpoints) goesOn() bool { return c.continued || c.resumed() }

// announce says from where the attempt goes on, and makes it a condition of the result.
func (c *checkpoints) announce() {
	if c.resumes > 0 {
		c.env.Resumed(c.resumes)
	}
	if c.from == nil {
		return
	}
	how := "lost"
	if c.from.Why == checkpoint.Interrupted {
		how = "interrupted"
	}
	used, rest := c.from.Used.Round(time.Second), "without a time limit"
	if c.given > 0 {
		rest = fmt.Sprintf("with %v left", c.rest(c.given).Round(time.Second))
	}
	if c.forked {
		c.env.Warn(fmt.Sprintf("the attempt is a fork: it begins from %s@%v, %s", c.durable.fork.Attempt.Short(), c.durable.fork.At, rest))
		return
	}
	if c.resumed() {
		c.env.Warn(fmt.Sprintf("the attempt was %s and goes on from checkpoint %d, after %v of its time, %s", how, c.from.Number, used, rest))
		return
	}
	c.env.Warn(fmt.Sprintf("the attempt was %s; its agent starts from the beginning, %s after %v", how, rest, used))
}

// signalTime is the most time between two signals that a machine sends at once.
const signalTime = 500 * time.Millisecond

// away returns an error if this process is being interrupted. A machine that is taken
// away signals agent and mleflow at once, and the agent's end may be seen first.
func (c *checkpoints) away(ctx context.Context) error {
	if c.durable.onLoss == "" {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(signalTime):
		return nil
	}
}

// next says what the next apply does with an interrupted attempt.
func (c *checkpoints) next() string {
	if c.durable.onLoss == onLossResume {
		return "goes on from its last checkpoint"
	}
	return "starts it from the beginning"
}

// command is the command that starts the agent.
func (c *checkpoints) command() []string {
	if c.resumed() && len(c.args.Resume) > 0 {
		return c.args.Resume
	}
	return c.attempt.command()
}

// environment returns the variables of an attempt that goes on.
func (c *checkpoints) environment() map[string]string {
	if c.resumes == 0 {
		return nil
	}
	vars := map[string]string{"MLEFLOW_RESUME_COUNT": strconv.Itoa(c.resumes)}
	if c.resumed() {
		vars["MLEFLOW_RESUMED"] = "1"
	}
	return vars
}

// layOut places what a checkpoint has of the agent's folders, the journals and the
// models.
func (c *checkpoints) layOut(ctx context.Context) error {
	if c.from == nil {
		return nil
	}
	if err := c.layModels(ctx); err != nil || !c.resumed() {
		return err
	}
	store := c.env.Store
	if err := c.from.LayOut(ctx, store, c.dirs.home, c.give); err != nil {
		return err
	}
	for _, ref := range []cache.Ref{c.from.Snapshots, c.from.Codes} {
		has(ctx, store, ref) // fetches them from a remote cache
	}
	return c.from.Gates(ctx, store, hostFolder, c.dirs.host)
}

// layModels places the budget and the transcript, unless this machine has later ones:
// what was spent after the checkpoint stays spent.
func (c *checkpoints) layModels(ctx context.Context) error {
	if c.models == nil {
		return nil
	}
	then, err := tree.Find(ctx, c.env.Store, c.from.State, modelsFolder+"/"+budgetFile)
	if err != nil {
		return nil //nolint:nilerr // nothing was spent
	}
	if now, err := os.Lstat(filepath.Join(c.models.dir, budgetFile)); err == nil && now.Size() >= then.Size {
		return nil
	}
	for _, name := range c.models.files() {
		if err := tree.Remove(filepath.Join(c.models.dir, name)); err != nil {
			return err
		}
	}
	return c.from.Gates(ctx, c.env.Store, modelsFolder, c.models.dir)
}

// files lists the budget and the files of the transcripts, below the models' folder. The
// events of a transcript come first: the bodies to which they refer are there by then.
func (m *modelGate) files() (list []string) {
	if m == nil {
		return nil
	}
	for _, pattern := range []string{budgetFile, transcriptFolder + "*/format", transcriptFolder + "*/events.jsonl", transcriptFolder + "*/*.bin"} {
		found, _ := filepath.Glob(filepath.Join(m.dir, pattern)) // the patterns are valid
		for _, path := range found {
			if name, err := filepath.Rel(m.dir, path); err == nil {
				list = append(list, name)
			}
		}
	}
	return list
}
