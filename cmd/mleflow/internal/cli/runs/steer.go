package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// AttemptEntry is an attempt of attempts list --json.
type AttemptEntry struct {
	Run         string        `json:"run"`
	Name        string        `json:"attempt"`
	Address     string        `json:"address"`
	Agent       string        `json:"agent"`
	Competition string        `json:"competition"`
	Seed        string        `json:"seed"`
	Phase       results.Phase `json:"phase"`
	// Ended is how it ended or stands, in words.
	Ended string `json:"ended"`
	// Part is the part of the attempt that runs.
	Part step.PhaseName `json:"part,omitempty"`
	// Seconds is how long it took, or takes so far.
	Seconds    float64         `json:"seconds,omitempty"`
	Submission step.Submission `json:"submission,omitempty"`
	// Exact is the score as the journal has it, in full precision.
	Exact  *float64 `json:"exact_score,omitempty"`
	Medal  string   `json:"medal,omitempty"`
	Node   string   `json:"node,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Stalled says since when it stands still.
	Stalled *step.Stall `json:"stalled,omitempty"`
	// Hours is where its time went.
	Hours *results.Hours `json:"hours,omitempty"`
	// Steered are the answers to what people asked of it, and what the next apply is asked;
	// ByHand is how that shows.
	Steered []event.Steered `json:"steered,omitempty"`
	ByHand  string          `json:"by_hand,omitempty"`
	// Integrity is the label of one that has ended, with its evidence.
	Integrity *results.Integrity `json:"integrity,omitempty"`
	// Opened counts the files of its data that it opened.
	Opened *results.Opened `json:"opened,omitempty"`
	// Queries are the validation scores that it asked for.
	Queries *results.Queries `json:"queries,omitempty"`
}

// AttemptsJSON is the output of attempts list in JSON.
type AttemptsJSON struct {
	Attempts []AttemptEntry `json:"attempts"`
}

// AnswersJSON is the output in JSON of the commands that steer: the answer to each request.
type AnswersJSON struct {
	Answers []event.Steered `json:"answers"`
}

func newAttemptsList(a *app.App) *cobra.Command {
	return a.RunCommand("list [RUN]", "List the attempts of a run, with state, time and score", app.Takes(0, 1),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			out, err := AttemptsIn(a, past)
			if err != nil {
				return err
			}
			if cmd.Flags().NArg() == 0 {
				others, _ := Live(a, "") // without any, nothing is to be said
				for _, other := range slices.DeleteFunc(others, func(other *history.Past) bool { return other.Info.ID == past.Info.ID }) {
					fmt.Fprintf(a.Stderr, "Run %s lives, too: mleflow attempts list %s\n", other.Info.ID, other.Info.ID)
				}
			}
			return a.Show(out, func() { showAttempts(a, out.Attempts) })
		})
}

// AttemptsIn lists the attempts of a run.
func AttemptsIn(a *app.App, past *history.Past) (out AttemptsJSON, err error) {
	list, sum, err := attempts.Of(past)
	if err != nil {
		return out, err
	}
	for _, one := range list {
		if one.LogTells() {
			one.Log, _ = view.Excerpt(a.Tail(cmp.Or(one.MadeIn, one.RunID), one.Address, view.TailLines))
		}
	}
	asked, err := unmet(a, past)
	if err != nil {
		return out, err
	}
	sum.Steered = append(sum.Steered, asked...)
	names := attempts.Names(list)
	out.Attempts = make([]AttemptEntry, len(list))
	for i, one := range list {
		e := entryOf(one, names[i], sum)
		for _, s := range asked {
			if s.Request.Address == e.Address {
				e.ByHand = strings.TrimPrefix(e.ByHand+"; "+view.ActText(s), "; ")
			}
		}
		out.Attempts[i] = e
	}
	return out, nil
}

func entryOf(one *results.Attempt, name string, sum *history.Summary) AttemptEntry {
	text, _ := one.Ended()
	e := AttemptEntry{Run: one.RunID, Name: name, Address: cmp.Or(one.Address, one.GradeAddress), Agent: one.Agent, Competition: one.Competition(),
		Seed: one.Seed, Phase: one.Phase, Ended: text, Exact: (*float64)(one.Report.ExactScore), Medal: results.Medal(one.Report), Reason: one.Reason(), ByHand: one.ByHand()}
	if s := sum.Step(e.Address); s != nil {
		e.Seconds, e.Node = sum.Took(s, time.Now()).Seconds(), s.Node
	}
	if one.Made.WallSeconds != nil {
		e.Seconds = *one.Made.WallSeconds
	}
	if t := sum.Running[e.Address]; t != nil && sum.State == history.Running {
		e.Part, e.Submission, e.Stalled = t.Phase.Name, t.Phase.Submission, t.Stalled
	}
	e.Hours, e.Opened, e.Queries = one.Hours, one.Opened, one.Queries
	if one.Made.Outcome != "" {
		e.Integrity = new(one.Integrity())
	}
	e.Steered = lists.Where(sum.Steered, func(s event.Steered) bool { return s.Request.Address == e.Address })
	return e
}

func showAttempts(a *app.App, entries []AttemptEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(a.Stdout, "The run has no attempts.")
		return
	}
	columns := []string{"Attempt", "State", ">Time", "Submission", ">Score", "Medal", "Node"}
	if slices.ContainsFunc(entries, func(e AttemptEntry) bool { return e.Integrity != nil }) {
		columns = append(columns, "Integrity")
	}
	t := view.NewTable(columns...)
	var below []string
	for _, e := range entries {
		state, spent, score := e.Ended, "", ""
		if e.Part != "" {
			state = string(e.Part)
		}
		if e.Stalled != nil {
			state, e.Reason = view.StalledFor(*e.Stalled, time.Now()), view.StallText(*e.Stalled)
		}
		if e.Seconds > 0 {
			spent = view.Millis(int64(e.Seconds * 1000))
		}
		if e.Exact != nil {
			score = strconv.FormatFloat(*e.Exact, 'f', 5, 64)
		}
		t.Row(e.Name, state, spent, string(e.Submission), score, e.Medal, e.Node, e.Integrity.Text())
		if e.Reason != "" {
			below = append(below, view.OneLine(e.Name)+": "+view.OneLine(e.Reason))
		}
	}
	for _, e := range entries {
		below = append(below, lists.Of(e.Steered, func(s event.Steered) string { return "By hand: " + view.OneLine(e.Name) + ": " + view.ActText(s) })...)
	}
	t.Fit(1, a.Width())
	a.Table(t)
	fmt.Fprint(a.Stdout, view.When(len(below) > 0, "\n"+strings.Join(below, "\n")+"\n"))
}

// steerFlags are those of commands that steer attempts.
type steerFlags struct{ run, reason string }

func (o *steerFlags) register(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&o.run, "run", "", "steer only attempts of `RUN`")
	registerReason(cmd, &o.reason)
	return cmd
}

func registerReason(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "say why; the journal keeps the `TEXT`")
}

func newExtend(a *app.App) *cobra.Command {
	var o steerFlags
	var by time.Duration
	var budget string
	cmd := a.Command("extend KEY...", "Give attempts more time, or their models more money", app.Takes(1, -1), func(cmd *cobra.Command, keys []string) error {
		r, err := Extension(by, budget)
		if err != nil {
			return err
		}
		r.Reason = o.reason
		return o.steer(cmd.Context(), a, r, keys)
	})
	cmd.Flags().DurationVar(&by, "by", 0, "give them `TIME` more, such as 2h")
	cmd.Flags().StringVar(&budget, "budget", "", "let each of their models cost `USD` more, such as +5USD")
	return o.register(cmd)
}

// Extension is the request for more time or, as in "+5USD", money.
func Extension(by time.Duration, budget string) (step.Request, error) {
	r := step.Request{Act: step.Extend, ByMillis: by.Milliseconds()}
	if budget != "" {
		amount, err := gateway.ParseDollars(strings.TrimPrefix(strings.TrimSuffix(budget, "USD"), "+"))
		if err != nil || amount <= 0 {
			return r, app.Usagef("--budget %q is not an amount such as +5USD", budget)
		}
		r.Budget = int64(amount)
	}
	switch {
	case by < 0:
		return r, app.Usagef("--by %v would take time away, and an attempt can only be given more, such as --by 2h; mleflow attempts stop ends it now", by)
	case by > 0 && r.Budget > 0:
		return r, app.Usagef("--by and --budget are one request each: give the time with --by %v, then the money in a second command", by)
	case by == 0 && r.Budget == 0:
		return r, app.Usagef("say by how much: --by 2h or --budget +5USD")
	}
	return r, nil
}

func newSteer(a *app.App, act step.Act, short string) *cobra.Command {
	var o steerFlags
	cmd := a.Command(string(act)+" KEY...", short, app.Takes(1, -1), func(cmd *cobra.Command, keys []string) error {
		return o.steer(cmd.Context(), a, step.Request{Act: act, Reason: o.reason}, keys)
	})
	return o.register(cmd)
}

// steer asks something of the attempts of live runs that keys name.
func (o steerFlags) steer(ctx context.Context, a *app.App, r step.Request, keys []string) error {
	live, err := Live(a, o.run)
	if err != nil {
		return err
	}
	asked, err := named(live, r, keys)
	if err != nil {
		return err
	}
	return ask(ctx, a, asked)
}

// named makes a request to each attempt of the runs that keys name.
func named(live []*history.Past, r step.Request, keys []string) (asked []*asking, err error) {
	var all []*results.Attempt
	runs := map[string]*history.Past{}
	for _, past := range live {
		list, _, err := attempts.Of(past)
		if err != nil {
			return nil, err
		}
		runs[past.Info.ID], all = past, append(all, lists.Where(list, func(one *results.Attempt) bool { return one.Address != "" })...)
	}
	for _, key := range keys {
		found, err := attempts.Find(key, all)
		if err != nil {
			return nil, app.Usagef("among the runs of yours that live, %w", err)
		}
		for _, one := range found {
			r.Address = one.Address
			past := runs[one.RunID]
			if !slices.ContainsFunc(asked, func(q *asking) bool { return q.past == past && q.Address == r.Address }) {
				asked = append(asked, &asking{past: past, name: attempts.Name(one), Request: r})
			}
		}
	}
	return asked, nil
}

// Steer asks something of a run that lives or, with keys, of those of its attempts that they
// name, and returns the answers.
func Steer(ctx context.Context, a *app.App, past *history.Past, r step.Request, keys []string) (AnswersJSON, error) {
	past, err := steerable(past)
	if err != nil {
		return AnswersJSON{}, err
	}
	list := []*asking{{past: past, Request: r}}
	if len(keys) > 0 {
		list, err = named([]*history.Past{past}, r, keys)
	}
	if err == nil {
		err = leave(ctx, a, list)
	}
	return AnswersJSON{lists.Of(list, (*asking).steered)}, err
}

// Live returns the runs whose attempts may be steered; with run only that one.
func Live(a *app.App, run string) (list []*history.Past, err error) {
	if run != "" {
		past, err := a.FindRun([]string{run})
		if err != nil {
			return nil, err
		}
		own, err := steerable(past)
		if err != nil && waits(a, past) {
			own, err = app.OwnRun(past, "who started it can steer it")
		}
		return []*history.Past{own}, err
	}
	l, err := a.OpenHistory()
	if err != nil {
		return nil, err
	}
	entries, err := l.List()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.State == history.Running && !e.OfOthers() {
			past, err := l.Open(e.ID)
			if err != nil {
				return nil, err
			}
			list = append(list, past)
		}
	}
	if len(list) == 0 {
		list = interrupted(l, entries)
	}
	if len(list) == 0 {
		return nil, app.Usagef("no run of yours lives in this cache; mleflow runs lists them")
	}
	return list, nil
}

// steerable returns a run that can be steered.
func steerable(past *history.Past) (*history.Past, error) {
	own, err := app.OwnRun(past, "who started it can steer it")
	if err == nil && own.Entry().State != history.Running {
		err = app.Usagef("run %s is not running: %s", past.Info.ID, own.Entry().State)
	}
	return own, err
}

func newRunsDrain(a *app.App) *cobra.Command {
	var reason string
	cmd := a.RunCommand("drain [RUN]", "Start nothing new in a run, and finish what runs", app.Takes(0, 1),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			return askRun(cmd.Context(), a, past, step.Request{Act: step.Drain, Reason: reason})
		})
	registerReason(cmd, &reason)
	return cmd
}

func newRunsSet(a *app.App) *cobra.Command {
	var reason string
	cmd := a.Command("set [RUN] NAME=VALUE...", "Change the limits of a run that lives: parallelism, gpus, budget, deadline", app.Takes(1, -1),
		func(cmd *cobra.Command, args []string) error {
			var run []string
			if !strings.Contains(args[0], "=") {
				run, args = args[:1], args[1:]
			}
			var list []step.Request
			for _, arg := range args {
				r, err := Setting(arg)
				if err != nil {
					return err
				}
				r.Reason = reason
				list = append(list, r)
			}
			if len(list) == 0 {
				return app.Usagef("say what to set: " + settings)
			}
			past, err := a.FindRun(run)
			if err != nil {
				return err
			}
			return askRun(cmd.Context(), a, past, list...)
		})
	registerReason(cmd, &reason)
	return cmd
}

func askRun(ctx context.Context, a *app.App, past *history.Past, list ...step.Request) error {
	past, err := steerable(past)
	if err != nil {
		return err
	}
	return ask(ctx, a, lists.Of(list, func(r step.Request) *asking { return &asking{past: past, name: "run " + past.Info.ID, Request: r} }))
}

// asking is a request and, later, its answer.
type asking struct {
	past *history.Past
	name string
	step.Request
	answer *event.Steered
}

// patience is how long a command waits for the answers of a run.
const patience = 15 * time.Second

// ask leaves requests and shows the answers.
func ask(ctx context.Context, a *app.App, list []*asking) error {
	if err := leave(ctx, a, list); err != nil {
		return err
	}
	return show(a, list)
}

// leave leaves requests and takes the answers that come in time.
func leave(ctx context.Context, a *app.App, list []*asking) (err error) {
	watches := map[*history.Past]*history.Watch{}
	for _, q := range list {
		watches[q.past] = q.past.Watch()
	}
	for _, q := range list {
		q.Through = a.Through
		if q.Request, err = q.past.Ask(q.Request); err != nil {
			return err
		}
	}
	answered := func() bool { return !slices.ContainsFunc(list, func(q *asking) bool { return q.answer == nil }) }
	for until := time.Now().Add(patience); !answered() && time.Now().Before(until); {
		if err := progress.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		for past, w := range watches {
			lives := past.Entry().State == history.Running // read before the answers
			events, err := w.Next()
			if err != nil {
				return err
			}
			take(list, past, events)
			for _, q := range list {
				if !lives && q.past == past && q.answer == nil {
					q.answer = left(a, q)
				}
			}
		}
	}
	return nil
}

// steered is the answer, without an effect if there is none yet.
func (q *asking) steered() event.Steered {
	if q.answer != nil {
		return *q.answer
	}
	return event.Steered{At: event.Now(), Request: q.Request}
}

// take enters answers.
func take(list []*asking, past *history.Past, events []event.Event) {
	for _, e := range events {
		s, ok := e.(event.Steered)
		for _, q := range list {
			if ok && q.past == past && q.ID == s.Request.ID {
				q.answer = &s
			}
		}
	}
}

// show shows the answers. It is an error if one is a refusal.
func show(a *app.App, list []*asking) error {
	refused := 0
	var answers []event.Steered
	for _, q := range list {
		s := q.steered()
		answers = append(answers, s)
		text := cmp.Or(s.Effect, "the run has not answered yet; it keeps the request")
		if s.Refused != "" {
			refused++
			text = "refused: " + s.Refused
		}
		if !a.JSON {
			fmt.Fprintf(a.Stdout, "%s: %s\n", view.OneLine(q.name), view.OneLine(text))
		}
	}
	if a.JSON {
		if err := app.WriteJSON(a.Stdout, AnswersJSON{answers}); err != nil {
			return err
		}
	}
	if refused > 0 {
		return fmt.Errorf("%w: %d refused", app.ErrSilent, refused)
	}
	return nil
}
