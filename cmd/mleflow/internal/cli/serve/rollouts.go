package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/export"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// rolloutsBlock offers the agents of a pipeline for rollouts.
type rolloutsBlock struct {
	Pipeline string   `hcl:"pipeline" doc:"pipeline file with the agent and model blocks of rollouts"`
	Agents   []string `hcl:"agents,optional" doc:"agent blocks that rollouts may name; by default all"`
	Parallel int      `hcl:"parallel,optional" doc:"how many rollouts run at a time; by default the number of processors"`
	BaseURLs []string `hcl:"base_urls,optional" doc:"endpoints that rollouts may name besides those of the model blocks"`
	Time     string   `hcl:"time,optional" doc:"longest time of an attempt, and that of one without a limit; by default 1h"`
	Runtime  string   `hcl:"runtime,optional" doc:"runtime of the agents; by default auto"`
	CPUs     float64  `hcl:"cpus,optional" doc:"processors of an attempt; by default 1"`
	Memory   string   `hcl:"memory,optional" doc:"memory of an attempt; by default 4GiB"`

	Range hcl.Range `hcl:",def_range"`
}

// openRollouts opens the rollouts of a server, nil without a block of them.
func openRollouts(ctx context.Context, a *app.App, s *settings, cache string) (*rollout.Queue, func() error, error) {
	if s.Rollouts == nil {
		return nil, func() error { return nil }, nil
	}
	own := quiet(a)
	own.CompetitionDirs = slices.Concat(own.CompetitionDirs, s.Competitions)
	own.Network.Offline = s.Offline
	run, err := newAttempts(own, *s.Rollouts)
	if err != nil {
		return nil, nil, err
	}
	q, err := rollout.Open(filepath.Join(cache, folder, "rollouts"), run, rollout.Options{
		Parallel: run.block.Parallel, Limits: s.options.Limits, Owners: s.options.Owners, Leave: executor.ErrLeave, Say: s.options.Say,
	})
	return q, run.close, err
}

// Rollout is a rollout with the paths of what can be done with it.
type Rollout struct {
	rollout.Rollout
	Links RolloutLinks `json:"links"`
}

// RolloutLinks are paths of the server.
type RolloutLinks struct {
	Self       string `json:"self"`
	Events     string `json:"events"`
	Cancel     string `json:"cancel"`
	Trajectory string `json:"trajectory"`
}

// Rollouts are several.
type Rollouts struct {
	Rollouts []Rollout `json:"rollouts"`
}

// RolloutRequest asks for a rollout or, with competitions or a split, for one of each
// competition, whose keys are KEY/COMPETITION.
type RolloutRequest struct {
	rollout.Request
	Competitions []string `json:"competitions,omitempty"`
	Split        string   `json:"split,omitempty"`
}

const (
	// maxWait is how long a request waits for a rollout at most.
	maxWait = time.Minute
	// maxWaiting is how many requests of a person wait for rollouts or follow them.
	maxWaiting = 2000
	// maxRollouts is how many rollouts a request asks for at most.
	maxRollouts = 1000
)

// rolloutRoutes are those of rollouts.
func rolloutRoutes() []Route {
	const one = api + "/rollouts/{rollout}"
	submit := post(api+"/rollouts", "rollout", "ask for a rollout, once for a key (member key, or header Idempotency-Key); with competitions or split for one of each, as listRollouts has them", false, (*call).rollout)
	submit.Gives = Rollout{}
	return []Route{
		submit,
		get(api+"/rollouts", "listRollouts", "rollouts, newest first; ?limit=N, by default 100", (*call).listRollouts),
		get(one, "getRollout", "a rollout; ?wait=30s waits until it has ended", (*call).awaited),
		{Method: "GET", Path: one + "/events", Name: "followRollout", Role: Viewer, Summary: "the rollout in each of its states; Last-Event-ID continues", Type: "text/event-stream", do: (*call).rolloutEvents},
		post(one+"/cancel", "cancelRollout", "take it out of the queue, or end its agent", true, func(c *call, _ struct{}) (Rollout, error) {
			q, err := c.queued()
			if err != nil {
				return Rollout{}, err
			}
			return c.linked(q.Cancel(c.PathValue("rollout")))
		}),
		{Method: "GET", Path: one + "/trajectory", Name: "getTrajectory", Role: Viewer, Summary: "the trajectories of its attempt, as lines of mleflow export trajectories", Type: "application/jsonl", do: (*call).trajectory},
	}
}

// queued are the server's rollouts.
func (s *server) queued() (*rollout.Queue, error) {
	if s.rollouts == nil {
		return nil, errNoRollouts
	}
	return s.rollouts, nil
}

// linked adds the paths.
func (c *call) linked(one rollout.Rollout, err error) (Rollout, error) {
	at := c.door.At.Path + api + "/rollouts/" + one.ID
	return Rollout{one, RolloutLinks{at, at + "/events", at + "/cancel", at + "/trajectory"}}, err
}

func (c *call) rollout(r RolloutRequest) (answer any, err error) {
	q, err := c.queued()
	if err != nil {
		return nil, err
	}
	if key := c.Request.Header.Values("Idempotency-Key"); len(key) > 0 {
		if len(key) > 1 || r.Key != "" && r.Key != key[0] {
			return nil, fmt.Errorf("%w: the request has two keys", rollout.ErrInvalid)
		}
		r.Key = key[0]
	}
	list, err := c.requests(r)
	if err != nil {
		return nil, err
	}
	all, status := Rollouts{Rollouts: []Rollout{}}, http.StatusOK
	for _, one := range list {
		made, isNew, err := q.Submit(c.Context(), c.who.Name, one)
		if err != nil {
			return nil, err // what was taken before is found again by its key
		}
		if isNew {
			status = http.StatusAccepted
		}
		made2, _ := c.linked(made, nil)
		all.Rollouts = append(all.Rollouts, made2)
	}
	c.Header().Set("Content-Type", "application/json")
	c.WriteHeader(status)
	if answer = all; len(r.Competitions) == 0 && r.Split == "" {
		answer = all.Rollouts[0]
	}
	return answer, nil
}

// requests are those of single rollouts.
func (c *call) requests(r RolloutRequest) ([]rollout.Request, error) {
	ids, ways := r.Competitions, 0
	for _, given := range []bool{r.Competition != "", len(r.Competitions) > 0, r.Split != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, fmt.Errorf("%w: name one of competition, competitions and split", rollout.ErrInvalid)
	}
	if r.Competition != "" {
		return []rollout.Request{r.Request}, nil
	}
	if r.Split != "" {
		catalog, err := c.app().Catalog()
		if err == nil {
			ids, err = catalog.Set(competitions.Set(r.Split))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: split: %w", rollout.ErrInvalid, err)
		}
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	if len(slices.Compact(ids)) != len(ids) || len(ids) > maxRollouts {
		return nil, fmt.Errorf("%w: competitions: at most %d, each once", rollout.ErrInvalid, maxRollouts)
	}
	if r.Key == "" {
		return nil, rollout.ErrNoKey
	}
	return lists.Of(ids, func(id string) rollout.Request {
		one := r.Request
		one.Key, one.Competition = r.Key+"/"+id, id
		return one
	}), nil
}

func (c *call) listRollouts() (all Rollouts, err error) {
	limit, err := c.limit()
	if err != nil {
		return all, err
	}
	q, err := c.queued()
	if err != nil {
		return all, err
	}
	all.Rollouts = lists.Of(q.List(limit), func(one rollout.Rollout) Rollout {
		shown, _ := c.linked(one, nil)
		return shown
	})
	return all, nil
}

// awaited is the rollout of the address, when it has ended or the time to wait is over.
func (c *call) awaited() (Rollout, error) {
	wait, err := time.ParseDuration(cmp.Or(c.URL.Query().Get("wait"), "0s"))
	if err != nil || wait < 0 || wait > maxWait {
		return Rollout{}, app.Usagef("wait is a time from 0s to %v", maxWait)
	}
	q, err := c.queued()
	if err != nil {
		return Rollout{}, err
	}
	if wait == 0 {
		return c.linked(q.Get(c.PathValue("rollout")))
	}
	defer c.count(-1)
	if c.count(1) > maxWaiting {
		return Rollout{}, fmt.Errorf("%w: %d of your requests wait already", service.ErrLimit, maxWaiting)
	}
	ctx, end := context.WithTimeout(c.Context(), wait)
	defer end()
	return c.linked(q.Wait(ctx, c.PathValue("rollout")))
}

// rolloutEvents sends the rollout in each of its states as server-sent events.
func (c *call) rolloutEvents() error {
	q, err := c.queued()
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(c.Request.Header.Get("Last-Event-ID")) // anything else is the beginning
	states, changed, err := q.After(c.PathValue("rollout"), n)
	if err != nil {
		return err
	}
	defer c.count(-1)
	if c.count(1) > maxWaiting {
		return fmt.Errorf("%w: you follow %d rollouts already", service.ErrLimit, maxWaiting)
	}
	c.startEvents()
	control := http.NewResponseController(c.ResponseWriter)
	for {
		for _, one := range states {
			n++
			shown, _ := c.linked(one, nil)
			text, err := json.Marshal(shown)
			if err != nil {
				return nil
			}
			_, _ = fmt.Fprintf(c.ResponseWriter, "id: %d\ndata: %s\n\n", n, text)
			if one.State.Over() {
				_, _ = fmt.Fprint(c.ResponseWriter, "event: end\ndata: {}\n\n")
				return nil
			}
		}
		if control.Flush() != nil {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(beat):
			_, _ = fmt.Fprint(c.ResponseWriter, ": lives\n\n")
		case <-c.Context().Done():
			return nil
		}
		if states, changed, err = q.After(c.PathValue("rollout"), n); err != nil {
			return nil
		}
	}
}

func (c *call) trajectory() error {
	q, err := c.queued()
	if err != nil {
		return err
	}
	one, err := q.Get(c.PathValue("rollout"))
	switch {
	case err != nil:
		return err
	case !one.State.Over():
		return rollout.ErrLives
	case one.State != rollout.Done:
		return fmt.Errorf("%w: it is %s", export.ErrNoTokens, one.State)
	}
	a := c.app()
	past, err := c.pages.History.Open(one.Run)
	if err != nil {
		return err
	}
	return a.WithResults(past, func(store app.ResultCache) error {
		list, err := leaderboard.AttemptsOf(c.Context(), a, past, store)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := export.Trajectories(c.Context(), store, list, &text); err != nil {
			return err
		}
		c.Header().Set("Content-Type", "application/jsonl")
		_, _ = text.WriteTo(c.ResponseWriter) // the client may be gone
		return nil
	})
}
