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
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

// The values of on_loss.
const (
	onLossResume  = "resume"
	onLossRestart = "restart"
	onLossFail    = "fail"
)

// checkDurable parses the arguments of the checkpoints.
func (a *attempt) checkDurable() (err error) {
	d := &a.durable
	if err := d.checkFork(a.args); err != nil {
		return err
	}
	switch d.onLoss = step.Text(a.args.OnLoss); {
	case d.onLoss == "" && (d.fork != nil || len(a.args.Resume) > 0):
		d.onLoss = onLossResume
	case len(a.args.Resume) > 0 && d.onLoss != onLossResume:
		return step.WrongArg("resume", fmt.Errorf("on_loss = %q never uses it; write on_loss = %q, or leave it out", d.onLoss, onLossResume))
	}
	if d.every, err = parseInterval(a.args.PointEvery); err != nil {
		return step.WrongArg("checkpoint_every", err)
	}
	d.limit, err = step.ParseSize(a.args.PointLimit)
	return step.WrongArg("checkpoint_limit", err)
}

// checkFork parses the arguments of the checkpoints that stay.
func (d *durable) checkFork(args arguments) (err error) {
	if d.keep, err = parseDuration(step.Text(args.PointKeep)); err != nil {
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

// resumption is the checkpoint from which an attempt goes on, if there is one.
type resumption struct {
	*place
	where checkpoint.Place
	// number is that of the last checkpoint, and kept are the times of those that stay.
	number int
	kept   []time.Duration
	// from is the checkpoint from which the attempt goes on; nil for a new attempt, or if
	// the agent still runs. resumes is how often the attempt has gone on.
	from    *checkpoint.Checkpoint
	resumes int
	// forked means that from is of another attempt.
	forked bool
	// result is that of an attempt whose process died before it was recorded; nil if
	// there is none.
	result cache.Outputs
}

// find finds the latest checkpoint of the action. An attempt that has not its result,
// and whose agent is gone, goes on from there.
func (r *resumption) find(ctx context.Context, action digest.ActionID) error {
	if r.durable.onLoss == "" {
		return nil
	}
	r.where = checkpoint.Place{Cache: r.env.Store, Attempt: action, Address: r.env.Address, Run: r.env.RunID}
	latest, err := r.where.Find(ctx)
	if latest == nil || err != nil {
		return errors.Join(err, r.branch(ctx))
	}
	r.number, r.kept = latest.Number, latest.Kept
	switch {
	case r.continued:
		return nil
	case latest.Ended:
		return r.unrecorded(ctx, action, latest)
	case r.durable.onLoss == onLossFail:
		return errLost
	}
	r.from, r.before, r.resumes = latest, latest.Used, latest.Resumes+1
	r.adopted = max(r.adopted, latest.Adopted)
	return nil
}

// unrecorded finds the result of an attempt that ended, unless it was recorded or
// dropped since: then the attempt is to run again.
func (r *resumption) unrecorded(ctx context.Context, action digest.ActionID, latest *checkpoint.Checkpoint) error {
	store := r.env.Store
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
	r.env.Note("the attempt had ended, and its result was not recorded: this is the result")
	r.resumes, r.result = latest.Resumes, latest.Result
	return nil
}

// branch finds the checkpoint of the other attempt from which a fork begins.
func (r *resumption) branch(ctx context.Context) error {
	if r.durable.fork == nil || r.continued {
		return nil
	}
	from, err := r.durable.fork.Find(ctx, r.where)
	if err != nil {
		return err
	}
	own := r.origin()
	switch {
	case from.Competition != own.Competition:
		return fmt.Errorf("the attempt of %s was at %s, not at %s", r.durable.fork, from.Competition, own.Competition)
	case !conditions.AtLeast(from.Isolation, own.Isolation):
		return fmt.Errorf("the attempt of %s had the isolation %q: a fork with more, %q, would hide that its files may have the answers", r.durable.fork, from.Isolation, own.Isolation)
	case r.given > 0 && from.Used >= r.given:
		return fmt.Errorf("the attempt of %s had used %v; the time limit of the fork, which counts from the beginning, is %v", r.durable.fork, from.Second(), r.given)
	}
	r.from, r.before, r.resumes, r.forked = from, from.Used, from.Resumes+1, true
	return nil
}

// origin is the origin of the attempt's files.
func (r *resumption) origin() checkpoint.Origin {
	return checkpoint.Origin{Competition: r.args.Competition + " " + r.args.Version, Isolation: r.args.isolation(r.runtime)}
}

// goesOn reports whether the agent does not begin from the beginning.
func (r *resumption) goesOn() bool { return r.continued || r.resumed() }

// announce says from where the attempt goes on, and makes it a condition of the result.
func (r *resumption) announce() {
	if r.resumes > 0 {
		r.env.Resumed(r.resumes)
	}
	if r.from == nil {
		return
	}
	how := "lost"
	if r.from.Why == checkpoint.Interrupted {
		how = "interrupted"
	}
	used, rest := r.from.Used.Round(time.Second), "without a time limit"
	if r.given > 0 {
		rest = fmt.Sprintf("with %v left", r.rest(r.given).Round(time.Second))
	}
	if r.forked {
		r.env.Warn(fmt.Sprintf("the attempt is a fork: it begins from %s@%v, %s", r.durable.fork.Attempt.Short(), r.durable.fork.At, rest))
		return
	}
	if r.resumed() {
		r.env.Warn(fmt.Sprintf("the attempt was %s and goes on from checkpoint %d, after %v of its time, %s", how, r.from.Number, used, rest))
		return
	}
	r.env.Warn(fmt.Sprintf("the attempt was %s; its agent starts from the beginning, %s after %v", how, rest, used))
}

// signalTime is the most time between two signals that a machine sends at once.
const signalTime = 500 * time.Millisecond

// away returns an error if this process is being interrupted. A machine that is taken
// away signals agent and mleflow at once, and the agent's end may be seen first.
func (r *resumption) away(ctx context.Context) error {
	if r.durable.onLoss == "" {
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
func (r *resumption) next() string {
	if r.durable.onLoss == onLossResume {
		return "goes on from its last checkpoint"
	}
	return "starts it from the beginning"
}

// command is the command that starts the agent.
func (r *resumption) command() []string {
	if r.resumed() && len(r.args.Resume) > 0 {
		return r.args.Resume
	}
	return r.attempt.command()
}

// environment returns the variables of an attempt that goes on.
func (r *resumption) environment() map[string]string {
	if r.resumes == 0 {
		return nil
	}
	vars := map[string]string{"MLEFLOW_RESUME_COUNT": strconv.Itoa(r.resumes)}
	if r.resumed() {
		vars["MLEFLOW_RESUMED"] = "1"
	}
	return vars
}

// layOut places what a checkpoint has of the agent's folders, the journals and the
// models.
func (r *resumption) layOut(ctx context.Context) error {
	if r.from == nil {
		return nil
	}
	if err := r.layBudgets(ctx); err != nil || !r.resumed() {
		return err
	}
	store := r.env.Store
	if err := r.from.LayOut(ctx, store, r.dirs.home, r.give); err != nil {
		return err
	}
	for _, ref := range []cache.Ref{r.from.Snapshots, r.from.Codes} {
		has(ctx, store, ref) // fetches them from a remote cache
	}
	return r.from.Gates(ctx, store, hostFolder, r.dirs.host)
}

// resumed reports whether the agent goes on with the files of a checkpoint.
func (r *resumption) resumed() bool {
	return r.from != nil && (r.forked || r.durable.onLoss == onLossResume)
}

// layBudgets places the budget, the transcript and the queries.
func (r *resumption) layBudgets(ctx context.Context) error {
	if r.models != nil {
		if err := r.layBudget(ctx, modelsFolder, r.models.dir, r.models.files(), budgetFile); err != nil {
			return err
		}
	}
	if r.queried == "" {
		return nil
	}
	return r.layBudget(ctx, queriesFolder, r.queried, r.queryFiles(), validity.QueriesFile)
}

// layBudget places the files of a folder of the gates, unless this machine has a later
// ledger: what was spent after the checkpoint stays spent.
func (r *resumption) layBudget(ctx context.Context, folder, dir string, files []string, ledger string) error {
	then, err := tree.Find(ctx, r.env.Store, r.from.State, folder+"/"+ledger)
	if err != nil {
		return nil //nolint:nilerr // nothing was spent
	}
	if now, err := os.Lstat(filepath.Join(dir, ledger)); err == nil && now.Size() >= then.Size {
		return nil
	}
	for _, name := range files {
		if err := tree.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return r.from.Gates(ctx, r.env.Store, folder, dir)
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
