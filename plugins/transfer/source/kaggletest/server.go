package kaggletest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Credentials that the server accepts.
const (
	Token = "KGAT_canary0token0canary0token0"
	User  = "canary-user"
	Key   = "canary0key0canary0key0canary0key"
	// Refresh is the token of a login, which gives others until LogOut.
	Refresh = "canary0refresh0canary0refresh0"
)

// Rules says whether the account may access a competition's data.
type Rules int

// The states of an account's right to the data.
const (
	Accepted Rules = iota
	NotAccepted
)

// File is an entry of a competition's list of files.
type File struct {
	Name  string
	Bytes int64
}

// Competition holds the server's data on one competition.
type Competition struct {
	Slug, Title string
	Metric      string // what the page calls it
	Rules       Rules
	// Withdrawn says that the competition exists but its data do not.
	Withdrawn bool
	// NoSummary makes the server behave like one without summaries of files.
	NoSummary bool
	Files     []File
	Archive   Object
	// Public and Private are the scores of the leaderboards in rank order; ""
	// is a team without one. Private is given once Deadline has passed.
	Public, Private []string
	Deadline        time.Time
	// Teams is the number of teams that the server reports, if it differs from the
	// number of rows.
	Teams int
	// Top makes the server return only this many rows and no pages; 0 returns all
	// of them in pages.
	Top int
	// Spoil changes a page of the leaderboard before it is sent.
	Spoil func(page map[string]any)
}

// board is the leaderboard that the server returns.
func (c Competition) board() []string {
	if c.Deadline.Before(time.Now()) && c.Private != nil {
		return c.Private
	}
	return c.Public
}

// Server is a running stand-in.
type Server struct {
	// Endpoint is the address of the API, for KAGGLE_API_ENDPOINT.
	Endpoint string

	plan         Plan
	api, storage *httptest.Server

	mu           sync.Mutex
	competitions map[string]*held
	signatures   map[string]bool
	signed       int
	// granted are the tokens that a login gave and that are valid.
	granted   map[string]bool
	loggedOut bool
	expired   int

	stats Stats
	calls atomic.Int64
}

// held is a competition and the state of its archive.
type held struct {
	Competition
	version int
}

// Stats count what the server did.
type Stats struct {
	// Requests and Asked are the requests to the storage and to the API;
	// Faults is how many of both went wrong.
	Requests, Asked, Faults atomic.Int64
	// Sent counts the bytes of the current versions of archives in answers that a
	// client can use.
	Sent atomic.Int64
	// Useless counts the bytes of answers that no client may use: a wrong part,
	// the whole file instead of a part, another encoding, more than announced, or
	// a version that has been replaced.
	Useless atomic.Int64
	// Granted counts the tokens that a login gave.
	Granted atomic.Int64
	// Leaks counts the requests to the storage that carried a credential.
	Leaks atomic.Int64
}

// New starts a server. A nil plan is one without faults. The caller closes it.
func New(plan Plan) *Server {
	s := &Server{plan: plan, competitions: map[string]*held{}, signatures: map[string]bool{}, granted: map[string]bool{}}
	if s.plan == nil {
		s.plan = func(Call) Fault { return Fault{} }
	}
	s.storage = start(http.HandlerFunc(s.serveStorage))
	s.api = start(s.routes())
	s.Endpoint = s.api.URL
	return s
}

// start starts a server with minimal buffers, so that little is sent that is
// never read.
func start(h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(16 << 10)
		}
	}
	srv.Start()
	return srv
}

// Close stops the server.
func (s *Server) Close() {
	s.api.CloseClientConnections()
	s.storage.CloseClientConnections()
	s.api.Close()
	s.storage.Close()
}

// Stats returns the counters so far.
func (s *Server) Stats() *Stats { return &s.stats }

// Storage is the address of the storage, on another host than the API.
func (s *Server) Storage() string { return strings.Replace(s.storage.URL, "127.0.0.1", "localhost", 1) }

// Add adds a competition.
func (s *Server) Add(c Competition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Archive = c.Archive.sealed()
	s.competitions[c.Slug] = &held{Competition: c}
}

// ExpireTokens ends the tokens that the login gave.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.granted)
}

// LogOut ends the login. The tokens that it gave stay valid.
func (s *Server) LogOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loggedOut = true
}

// Archive returns the present version of a competition's archive.
func (s *Server) Archive(slug string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.competitions[slug].Archive
}

// call counts a request and asks the plan about it.
func (s *Server) call(r *http.Request, api bool) Fault {
	f := s.plan(Call{N: int(s.calls.Add(1)) - 1, API: api, Request: r})
	if f.Kind != None {
		s.stats.Faults.Add(1)
	}
	return f
}
