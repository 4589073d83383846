package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/export"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/boards"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	sandbox "github.com/mleflow/mleflow/plugins/sandbox/service"
)

// Route is an address that the server answers, below its base path.
type Route struct {
	Method, Path string
	// Name is the operation's in the OpenAPI document; "" leaves the route out, which is a page.
	Name string
	// Role is the least that may use it. With Own, an operator may only if the run or
	// submission is his.
	Role    Role
	Own     bool
	Summary string
	// Takes and Gives are values of the types of request and answer, nil where Type says what
	// they are.
	Takes, Gives any
	// Type is the media type of a body that is not JSON: of the request of PUT, else of the
	// answer.
	Type string

	// Reads means that the requests of another method than GET change nothing, either.
	Reads bool

	// do answers. An error means that nothing has been written.
	do func(c *call) error
}

// changes reports whether a route changes something.
func (rt Route) changes() bool { return rt.Method != http.MethodGet && !rt.Reads }

// Who says in words who may use it.
func (rt Route) Who() string {
	switch {
	case rt.Role == Nobody:
		return "everyone"
	case rt.Own && rt.Role == Operator:
		return "operator, of his own; admin"
	}
	return rt.Role.String()
}

// call is a request that the guard let pass.
type call struct {
	*server
	http.ResponseWriter
	*http.Request
	who person
	// act is what is asked of the run, if its address does not tell.
	act step.Act
}

// api is where the routes of the API are.
const api = "/api/v1"

// Routes are all routes.
func Routes() []Route {
	return append(rolloutRoutes(), []Route{
		{Method: "GET", Path: "/api/openapi.json", Summary: "the OpenAPI document", Type: "application/json", do: (*call).document},
		get(api+"/whoami", "whoami", "who is signed in", (*call).whoami),
		get(api+"/runs", "listRuns", "runs, newest first; ?limit=N, by default 100", (*call).runs),
		get(api+"/runs/{run}", "getRun", "a run, as mleflow show --json", withRun(func(c *call, past *history.Past) (runs.RunJSON, error) { return runs.Shown(c.app().Store, past) })),
		get(api+"/runs/{run}/attempts", "listAttempts", "its attempts, as mleflow attempts list --json", withRun(func(c *call, past *history.Past) (runs.AttemptsJSON, error) { return runs.AttemptsIn(c.app(), past) })),
		get(api+"/runs/{run}/leaderboard", "getLeaderboard", "its leaderboard, as mleflow leaderboard --json of several agents", (*call).leaderboard),
		{Method: "GET", Path: api + "/runs/{run}/events", Name: "followRun", Role: Viewer, Summary: "its events as they happen; Last-Event-ID continues", Type: "text/event-stream", do: (*call).events},
		post(api+"/runs/{run}/attempts", "steerAttempts", "stop, cancel, requeue or extend attempts", true, (*call).steerAttempts),
		post(api+"/runs/{run}", "steerRun", "drain or pause a run, or set parallelism, gpus, budget or deadline", true, (*call).steerRun),
		post(api+"/files/missing", "listMissingFiles", "which contents you have not sent", false, (*call).missing),
		{Method: "PUT", Path: api + "/files/{digest}", Name: "putFile", Role: Operator, Summary: "send the content of a file", Type: "application/octet-stream", do: (*call).put},
		post(api+"/submissions", "submit", "submit a pipeline", false, (*call).submit),
		get(api+"/submissions", "listSubmissions", "submissions, newest first", (*call).submissions),
		get(api+"/submissions/{submission}", "getSubmission", "a submission", func(c *call) (Submission, error) { return c.shown(c.service.Get(c.PathValue("submission"))) }),
		post(api+"/submissions/{submission}/cancel", "cancelSubmission", "take it out of the queue, or end its run and agents", true, func(c *call, _ struct{}) (Submission, error) {
			return c.shown(c.service.Cancel(c.PathValue("submission")))
		}),
		post(api+"/submissions/{submission}/continue", "continueSubmission", "queue it again after its end, such as when its run was paused: what it finished is cached", true, func(c *call, _ struct{}) (Submission, error) {
			return c.shown(c.service.Continue(c.PathValue("submission")))
		}),
		post(api+"/submissions/{submission}/priority", "setPriority", "change its priority; above 0 only an admin may", true, func(c *call, to Priority) (Submission, error) {
			if err := c.mayFirst(to.Priority); err != nil {
				return Submission{}, err
			}
			return c.shown(c.service.SetPriority(c.PathValue("submission"), to.Priority))
		}),
		post(api+"/submissions/{submission}/publish", "publishSubmission", "make a read-only link of its run for people who are not signed in, or remove it", true, func(c *call, to Publish) (Submission, error) {
			return c.shown(c.service.Publish(c.PathValue("submission"), to.Public))
		}),
		{Method: "GET", Path: api + "/submissions/{submission}/output", Name: "getOutput", Role: Viewer, Summary: "what its run printed", Type: "text/plain; charset=utf-8", do: func(c *call) error { return c.printed(false) }},
		{Method: "GET", Path: api + "/submissions/{submission}/messages", Name: "getMessages", Role: Viewer, Summary: "what its run printed on standard error", Type: "text/plain; charset=utf-8", do: func(c *call) error { return c.printed(true) }},
		{Method: "POST", Path: "/mcp", Role: Viewer, Reads: true, Summary: "tools for coding agents, by the Model Context Protocol", do: (*call).mcp},
		{Method: "GET", Path: "/mcp", Role: Viewer, Summary: "405: the tools need no stream", do: (*call).mcp},
		{Method: "GET", Path: "/style.css", Summary: "the style of pages", do: (*call).page},
		{Method: "GET", Path: "/page.js", Summary: "the script of pages", do: (*call).page},
		{Method: "GET", Path: "/public/{link}", Summary: "the report of a published run", do: (*call).public},
		{Method: "POST", Path: "/runs/{run}/describe", Role: Operator, Own: true, Summary: "name, tags and note of a run", do: (*call).page},
		{Method: "GET", Path: queueLink.Address, Role: Viewer, Summary: "the page of the queue, and of who is signed in", do: (*call).queue},
		{Method: "POST", Path: leavePath, Summary: "sign the browser out by the form", do: (*call).leave},
		{Method: "GET", Path: "/{page...}", Role: Viewer, Summary: "the pages", do: (*call).page},
		{Method: "POST", Path: "/{page...}", Summary: "sign in by the form", do: (*call).enter},
	}...)
}

// get is a route that answers with a G.
func get[G any](path, name, summary string, do func(*call) (G, error)) Route {
	return Route{Method: "GET", Path: path, Name: name, Role: Viewer, Summary: summary, Gives: *new(G), do: func(c *call) error {
		answer, err := do(c)
		if err != nil {
			return err
		}
		return c.answer(answer)
	}}
}

// withRun gives a route its run.
func withRun[G any](do func(*call, *history.Past) (G, error)) func(*call) (G, error) {
	return func(c *call) (answer G, err error) {
		past, err := c.past()
		if err != nil {
			return answer, err
		}
		return do(c, past)
	}
}

// post is a route for operators that takes a T and answers with a G.
func post[T, G any](path, name, summary string, own bool, do func(*call, T) (G, error)) Route {
	return Route{Method: "POST", Path: path, Name: name, Role: Operator, Own: own, Summary: summary, Takes: *new(T), Gives: *new(G), do: func(c *call) error {
		var body T
		dec := json.NewDecoder(http.MaxBytesReader(c.ResponseWriter, c.Body, maxBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&body); err != nil {
			return app.Usagef("the request is not as docs/reference-serve.md has it: %w", err)
		}
		answer, err := do(c, body)
		if err != nil {
			return err
		}
		return c.answer(answer)
	}}
}

// maxBody is the most bytes of a request in JSON.
const maxBody = 16 << 20

func (c *call) answer(v any) error {
	c.Header().Set("Content-Type", "application/json")
	_ = app.WriteJSON(c.ResponseWriter, v) // the client may be gone
	return nil
}

// Header is that of the answer.
func (c *call) Header() http.Header { return c.ResponseWriter.Header() }

// past is the run of the address, by its whole ID, as owners are found.
func (c *call) past() (*history.Past, error) { return c.pages.History.Open(c.PathValue("run")) }

// Whoami is the person who asks.
type Whoami struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Version string `json:"version"`
}

func (c *call) whoami() (Whoami, error) {
	return Whoami{c.who.Name, c.who.Role.String(), app.ThisVersion().Version}, nil
}

func (c *call) runs() (list runs.RunsJSON, err error) {
	limit, err := c.limit()
	if err != nil {
		return list, err
	}
	entries, err := c.pages.History.List()
	if err != nil {
		return list, err
	}
	return runs.Listed(c.app().Store, entries[:min(limit, len(entries))]), nil
}

// limit is how many of a list are asked for.
func (c *call) limit() (int, error) {
	limit, err := strconv.Atoi(cmp.Or(c.URL.Query().Get("limit"), "100"))
	if err != nil || limit < 1 || limit > 1000 {
		return 0, app.Usagef("limit is a number from 1 to 1000")
	}
	return limit, nil
}

// AttemptsAct is what somebody asks of attempts of a run.
type AttemptsAct struct {
	// Act is stop, cancel, requeue or extend.
	Act step.Act `json:"act"`
	// Attempts are agent/competition/seed, with * for any, or addresses.
	Attempts []string `json:"attempts"`
	// By is more time, such as "2h", and Budget more money, such as "+5USD", of extend.
	By     string `json:"by,omitempty"`
	Budget string `json:"budget,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (c *call) steerAttempts(a AttemptsAct) (none runs.AnswersJSON, err error) {
	c.act = a.Act
	r := step.Request{Act: a.Act}
	switch by, bad := time.ParseDuration(cmp.Or(a.By, "0s")); {
	case bad != nil || by < 0:
		return none, app.Usagef("by: %.80q is not a time such as 2h", a.By)
	case a.Act == step.Extend:
		if r, err = runs.Extension(by, a.Budget); err != nil {
			return none, err
		}
	case !slices.Contains([]step.Act{step.Stop, step.Cancel, step.Requeue}, a.Act):
		return none, app.Usagef("act: %.80q is not stop, cancel, requeue or extend", a.Act)
	}
	if len(a.Attempts) == 0 {
		return none, app.Usagef("attempts: name at least one")
	}
	return c.steer(r, a.Reason, a.Attempts)
}

// RunAct is what somebody asks of a run.
type RunAct struct {
	// Act is drain, pause, or set with parallelism, gpus, budget or deadline, such as "set gpus".
	Act step.Act `json:"act"`
	// Value is what parallelism or gpus are set to, Budget money such as "100USD".
	Value    int       `json:"value,omitempty"`
	Budget   string    `json:"budget,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

// pause is the act on a run that is a signal to its process.
const pause step.Act = "pause"

func (c *call) steerRun(a RunAct) (none runs.AnswersJSON, err error) {
	c.act = a.Act
	text, isSetting := map[step.Act]string{
		step.SetParallelism: strconv.Itoa(a.Value), step.SetGPUs: strconv.Itoa(a.Value), step.SetBudget: a.Budget, step.SetDeadline: a.Deadline.Format(time.RFC3339),
	}[a.Act]
	r := step.Request{Act: a.Act}
	switch {
	case a.Act == pause:
		past, err := c.past()
		if err == nil {
			_, err = runs.Pause(c.Context(), past)
		}
		return runs.AnswersJSON{Answers: []event.Steered{}}, err
	case a.Act == step.SetDeadline && a.Deadline.IsZero():
		return none, app.Usagef("deadline: name the time, such as 2026-12-01T08:00:00Z")
	case isSetting:
		if r, err = runs.Setting(strings.TrimPrefix(string(a.Act), "set ") + "=" + text); err != nil {
			return none, err
		}
	case a.Act != step.Drain:
		return none, app.Usagef("act: %.80q is not drain, pause, set parallelism, set gpus, set budget or set deadline", a.Act)
	}
	return c.steer(r, a.Reason, nil)
}

func (c *call) steer(r step.Request, reason string, keys []string) (runs.AnswersJSON, error) {
	past, err := c.past()
	if err != nil {
		return runs.AnswersJSON{}, err
	}
	r.Author, r.Reason = c.who.Name, reason
	return runs.Steer(c.Context(), c.app(), past, r, keys)
}

// Digests are those of files. Missing is the answer.
type Digests struct {
	Digests []string `json:"digests"`
}

// Missing are the contents that a submission would lack.
type Missing struct {
	Missing []string `json:"missing"`
}

func (c *call) missing(d Digests) (Missing, error) {
	list, err := c.service.Missing(c.Context(), c.who.Name, d.Digests)
	return Missing{append([]string{}, list...)}, err
}

func (c *call) put() error {
	if err := c.service.Put(c.Context(), c.who.Name, c.PathValue("digest"), c.Body); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

// Priority is a submission's, Publish whether it has a public link.
type (
	Priority struct {
		Priority int `json:"priority"`
	}
	Publish struct {
		Public bool `json:"public"`
	}
)

// Submission is a submission with the address of its public link, if it has one.
type Submission struct {
	service.Submission
	Link string `json:"link,omitempty"`
}

// Submissions are several.
type Submissions struct {
	Submissions []Submission `json:"submissions"`
}

// mayFirst refuses an operator's priority that beats the shares of others.
func (c *call) mayFirst(priority int) error {
	if priority > 0 && c.who.Role < Admin {
		return errFirst
	}
	return nil
}

func (c *call) submit(m service.Manifest) (Submission, error) {
	if err := c.mayFirst(m.Priority); err != nil {
		return Submission{}, err
	}
	return c.shown(c.service.Submit(c.Context(), c.who.Name, m))
}

func (c *call) submissions() (all Submissions, _ error) {
	all.Submissions = []Submission{}
	for _, s := range c.service.List() {
		one, _ := c.shown(s, nil)
		all.Submissions = append(all.Submissions, one)
	}
	return all, nil
}

// shown adds the public link, which only who may change it sees.
func (c *call) shown(s service.Submission, err error) (Submission, error) {
	out := Submission{Submission: s}
	if err == nil && s.Public && (c.who.Role == Admin || c.who.Name == s.Owner) {
		out.Link = c.door.At.String() + "/public/" + c.people.sign("public", s.ID)
	}
	return out, err
}

func (c *call) printed(messages bool) error {
	f, err := c.service.Output(c.PathValue("submission"), messages)
	if err != nil {
		return err
	}
	defer f.Close()
	c.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(c.ResponseWriter, f) // the client may be gone
	return nil
}

func (c *call) leaderboard() (boards.AllJSON, error) {
	past, err := c.past()
	if err != nil {
		return boards.AllJSON{}, err
	}
	a := c.app()
	if err := a.UseRun(past); err != nil {
		return boards.AllJSON{}, err
	}
	return leaderboard.OfRun(c.Context(), a, c.PathValue("run"))
}

// page answers with a page.
func (c *call) page() error {
	c.pages.ServeHTTP(c.ResponseWriter, c.Request)
	return nil
}

func (c *call) enter() error { return c.form(c.people.enter) }

func (c *call) leave() error { return c.form(c.people.leave) }

// form handles a form of our own pages.
func (c *call) form(do func(http.ResponseWriter, *http.Request, ui.Door)) error {
	if !c.door.OwnForm(c.Request) {
		http.Error(c.ResponseWriter, "This server takes its own forms only.", http.StatusForbidden)
		return nil
	}
	do(c.ResponseWriter, c.Request, c.door)
	return nil
}

// public answers with the report of a published run, and with nothing else.
func (c *call) public() error {
	for _, s := range c.service.List() {
		if s.Public && s.Run != "" && equal(c.PathValue("link"), c.people.sign("public", s.ID)) {
			r := c.Clone(context.WithoutCancel(c.Context()))
			r.URL.Path, r.URL.RawPath, r.URL.RawQuery = c.door.At.Path+"/runs/"+s.Run+"/report", "", ""
			c.pages.ServeHTTP(c.ResponseWriter, r)
			return nil
		}
	}
	http.NotFound(c.ResponseWriter, c.Request)
	return nil
}

func (c *call) document() error {
	c.Header().Set("Content-Type", "application/json")
	_, _ = c.ResponseWriter.Write(openAPI)
	return nil
}

// statuses are those of errors.
var statuses = map[error]int{
	history.ErrNoRun: 404, service.ErrUnknown: 404, service.ErrInvalid: 400, service.ErrMissing: 409, service.ErrOver: 409, service.ErrLives: 409, service.ErrLimit: 429,
	rollout.ErrUnknown: 404, rollout.ErrInvalid: 400, rollout.ErrKey: 409, rollout.ErrOver: 409, rollout.ErrLives: 409, errNoRollouts: 404, export.ErrNoTokens: 404,
	errSignIn: 401, errToken: 401, errHeader: 403, errRole: 403, errFirst: 403, errOwner: 403, errOrigin: 403, errType: 415, errLimited: 429, context.Canceled: 503, sandbox.ErrSlow: 408,
}

// fail answers with an error.
func (s *server) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if app.ExitStatus(err) == app.ExitStatus(app.UsageError{}) {
		status = http.StatusBadRequest
	}
	for known, its := range statuses {
		if errors.Is(err, known) {
			status = its
		}
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = app.WriteJSON(w, Problem{err.Error()}) // the client may be gone
}

// Problem is the answer with a status from 400 on.
type Problem struct {
	Error string `json:"error"`
}

// isJSON reports whether the body of a request is declared as JSON, which no page of another
// site can send.
func isJSON(r *http.Request, want string) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && strings.EqualFold(kind, want)
}
