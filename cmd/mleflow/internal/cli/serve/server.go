package serve

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
)

// server answers requests.
type server struct {
	people  *people
	door    ui.Door
	pages   *ui.UI
	service *service.Service
	// rollouts is nil if the server offers none.
	rollouts *rollout.Queue
	// tools answers at /mcp.
	tools http.Handler
	// app returns an app of its own for a request, which prints nothing.
	app func() *app.App
	// api and page are the routes below /api/ and the others.
	api, page *http.ServeMux
	mu        sync.Mutex
	// acts is where acts are written, streams how many runs each person follows.
	acts    io.Writer
	streams map[string]int
}

// The reasons why a request is refused.
var (
	errSignIn     = errors.New("sign in: send the header Authorization: Bearer TOKEN")
	errRole       = errors.New("your role may not do this")
	errFirst      = errors.New("only admins may set a priority above 0; 0 is the usual one, and a lower one lets others go first")
	errOwner      = errors.New("only its owner and admins may do this")
	errOrigin     = errors.New("this server answers its own pages only")
	errNoRollouts = errors.New("this server offers no rollouts: its file has no block rollouts")
	errType       = errors.New("send Content-Type: application/json, or application/octet-stream with PUT")
)

// newServer puts the routes together.
func newServer(s *settings, key []byte, pages *ui.UI, queue *service.Service, tools mcp.Options, newApp func() *app.App, acts io.Writer) *server {
	srv := &server{
		people: &people{settings: s, key: key, cookie: "mleflow-serve-" + s.at.Port()}, pages: pages, service: queue, tools: newTools(tools), app: newApp, acts: acts,
		door: ui.Door{At: s.at, Title: "mleflow", Right: "mleflow serve token makes one."},
		api:  http.NewServeMux(), page: http.NewServeMux(), streams: map[string]int{},
	}
	for _, rt := range Routes() {
		mux := srv.page
		if strings.HasPrefix(rt.Path, "/api/") {
			mux = srv.api
		}
		mux.HandleFunc(rt.Method+" "+rt.Path, func(w http.ResponseWriter, r *http.Request) { srv.serve(rt, w, r) })
	}
	return srv
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.door.Admit(w, r) {
		return
	}
	if s.people.TLS == nil && !remote(r).IsLoopback() && !s.people.fromProxy(r) {
		http.Error(w, "This server has no TLS: it answers its proxy only.", http.StatusForbidden)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, s.door.At.Path)
	if ok && rest == "" {
		http.Redirect(w, r, s.door.At.Path+"/", http.StatusSeeOther)
		return
	}
	if !ok || rest[0] != '/' || !plainPath(r) {
		http.NotFound(w, r)
		return
	}
	mux, inner := s.page, *r.URL
	if inner.Path = rest; strings.HasPrefix(rest, "/api/") {
		mux = s.api
	}
	routed := r.WithContext(r.Context())
	routed.URL = &inner
	mux.ServeHTTP(w, routed)
}

// plainPath refuses addresses that a proxy and this server could read differently.
func plainPath(r *http.Request) bool {
	p := strings.TrimSuffix(r.URL.Path, "/")
	return r.Method != http.MethodConnect && r.URL.RawPath == "" && (p == "" || path.Clean(p) == p) && !strings.Contains(r.URL.Path, "\\")
}

// serve is the guard: it decides by the table alone.
func (s *server) serve(rt Route, w http.ResponseWriter, r *http.Request) {
	who, err := s.people.who(r)
	isPage := !strings.HasPrefix(rt.Path, "/api/")
	switch {
	case rt.Role == Nobody:
		err = nil // it is open to all, and says nothing of the person
	case err == nil:
		err = s.allowed(rt, who, r)
	}
	switch {
	case err != nil && isPage && rt.Method == http.MethodGet && (errors.Is(err, errSignIn) || errors.Is(err, errToken)):
		s.door.Ask(w, "Write your token. Who runs this server has it.")
		return
	case err != nil:
		s.fail(w, err)
		return
	}
	if isPage { // pages have the base path in their own routes
		whole := *r.URL
		whole.Path = s.door.At.Path + r.URL.Path
		r.URL = &whole
	}
	c := &call{server: s, ResponseWriter: w, Request: r, who: who}
	err = rt.do(c)
	if rt.changes() && rt.Role > Nobody {
		c.note(err)
	}
	if err != nil {
		s.fail(w, err)
	}
}

// allowed says why a person may not use a route.
func (s *server) allowed(rt Route, who person, r *http.Request) error {
	if who.Role == Nobody {
		return errSignIn
	}
	isForm := rt.changes() && rt.Name == ""
	if !s.door.OwnOrigin(r) && !(rt.changes() && s.door.OwnForm(r)) {
		return errOrigin
	}
	if rt.Method != http.MethodGet {
		want := "application/json"
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
			return errOrigin
		}
		if rt.Method == http.MethodPut {
			want = rt.Type
		}
		if isForm && !s.door.OwnForm(r) {
			return errOrigin
		}
		if !isForm && !isJSON(r, want) {
			return errType
		}
	}
	if who.Role < rt.Role {
		return errRole
	}
	if rt.Own && who.Role < Admin && s.owner(r) != who.Name {
		return errOwner
	}
	return nil
}

// owner is whose the run or the submission of an address is, "" if nobody's.
func (s *server) owner(r *http.Request) string {
	if id := r.PathValue("submission"); id != "" {
		one, err := s.service.Get(id)
		if err != nil {
			return ""
		}
		return one.Owner
	}
	if id := r.PathValue("rollout"); id != "" && s.rollouts != nil {
		one, err := s.rollouts.Get(id)
		if err != nil {
			return ""
		}
		return one.Owner
	}
	return s.service.OwnerOf(r.PathValue("run"))
}

// note writes down an act, whether it succeeded or not.
func (c *call) note(err error) {
	act := strings.TrimSpace(fmt.Sprintf("%s %s %.80s", c.Method, c.URL.Path, c.act))
	line := map[string]string{"time": time.Now().UTC().Format(time.RFC3339), "by": c.who.Name, "act": act, "from": c.people.peer(c.Request)}
	if err != nil {
		line["error"] = err.Error()
	}
	text, _ := json.Marshal(line) // strings
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.acts.Write(append(text, '\n')) // the journal of a run has what was asked of it
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
