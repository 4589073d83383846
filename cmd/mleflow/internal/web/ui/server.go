package ui

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// KeptIn is the folder that a cache keeps under a key.
func KeptIn(ctx context.Context, c cache.Keeper, key string) (string, error) {
	list, err := c.Kept(ctx)
	if err != nil {
		return "", err
	}
	for _, k := range list {
		if k.Key == key {
			return k.Dir, nil
		}
	}
	return "", errors.New("it is not on this machine, or the attempt has just ended")
}

// New returns the pages over a source. The index of all results is built from
// the first request on, until ctx ends.
func New(ctx context.Context, src Source) *UI {
	if src.Now == nil {
		src.Now = time.Now
	}
	u := &UI{Source: src, mux: http.NewServeMux(), token: Secret(), below: belowBase(src.Base), runs: &runIndex{history: src.History}, results: newResultIndex(ctx, src)}
	u.models.most, u.turns.most = maxModels, maxOutlines
	u.routes()
	return u
}

func (u *UI) routes() {
	pages := map[string]func(*http.Request) (*content, error){
		"/runs": u.runsPage, "/runs/{run}": u.tab("Overview", u.runPage), "/runs/{run}/steps": u.tab("Steps", u.stepsPage), "/runs/{run}/attempts": u.tab("Attempts", u.attemptsPage),
		"/runs/{run}/about": u.tab("About", u.aboutPage), "/step/{run}": u.stepPage, "/competitions": u.competitionsPage,
		"/competitions/{id}": u.competitionPage, "/agents": u.agentsPage, "/attempts": u.resultsPage, "/search": u.searchPage, "/agent": u.agentPage, "/compare": u.comparePage, "/help": u.helpPage,
	}
	for path, make := range pages {
		u.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, make) })
	}
	u.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, u.Base+"/runs", http.StatusSeeOther) })
	u.mux.HandleFunc("/runs/{run}/report", u.report)
	u.mux.HandleFunc("/turns/{run}", u.turnPart)
	u.mux.HandleFunc("/find", u.find)
	u.mux.HandleFunc("POST /runs/{run}"+describeEnd, u.describe)
	u.mux.HandleFunc("/style.css", static("text/css; charset=utf-8", []byte(page.Style()+joined(".css"))))
	u.mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	u.mux.HandleFunc("/page.js", static("text/javascript; charset=utf-8", []byte(joined(".js"))))
	u.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		u.serve(w, r, func(*http.Request) (*content, error) { return nil, errNothing })
	})
}

// belowBase puts a path in front of the addresses in a page, which begin with a slash. Templates
// write attributes in double quotes, and escape those of texts, so that no text has one.
func belowBase(base string) *strings.Replacer {
	var pairs []string
	for _, name := range []string{"href", "src", "action", "data-turns", "data-compare"} {
		pairs = append(pairs, " "+name+`="/`, " "+name+`="`+base+"/")
	}
	return strings.NewReplacer(pairs...)
}

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if u.Base == "" {
		u.mux.ServeHTTP(w, r)
		return
	}
	outer := http.NewServeMux() // it redirects to whole paths
	outer.Handle(u.Base+"/", http.StripPrefix(u.Base, u.mux))
	outer.ServeHTTP(w, r)
}

func static(kind string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
	}
}

// Limits are those of a server for people. Answers may take any time.
var Limits = service.Limits{
	Connections: 8192, Header: 10 * time.Second, HeaderBytes: 64 << 10, Body: 30 * time.Second, Idle: 2 * time.Minute, Write: time.Minute, End: time.Second,
}

// policy is the content security policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Door is where pages are served: at names of this machine and, if At has a host, at that
// address, without a final slash.
type Door struct {
	At url.URL
	// Title and Right are the heading of the form that asks for a token, and where a right one is.
	Title, Right string
}

// Guard passes only requests of people who know its token to a handler.
type Guard struct {
	Door
	// session is in the cookie.
	token, session, cookie string
	next                   http.Handler
}

// NewGuard returns a guard. Name distinguishes its cookie from those of servers at other
// ports, to which browsers send it, too. At is the address, without a final slash, at which a
// reverse proxy serves the pages; the zero one is none. A cookie is valid as long as the token.
func NewGuard(name, token string, at url.URL, next http.Handler) *Guard {
	sum := hmac.New(sha256.New, []byte(token))
	sum.Write([]byte("mleflow ui session"))
	door := Door{at, "mleflow ui", "Open the address that mleflow ui printed when it started, or write the token of its --token-file here."}
	return &Guard{door, token, base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), "mleflow-" + name, next}
}

// Secret returns a random token of 43 letters, digits, hyphens and underscores.
func Secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Admit sets the headers of every answer. It refuses a request by a name that is not the
// door's.
func (d Door) Admit(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	ok := Loopback(r.Host) || d.proxied(r.Host)
	if !ok {
		http.Error(w, "This server answers to localhost, 127.0.0.1 and the host of its URL only. "+
			"A reverse proxy must pass on the Host that the browser sent.", http.StatusMisdirectedRequest)
	}
	return ok
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.Admit(w, r) {
		return
	}
	known := g.known(r)
	switch {
	case r.Method == http.MethodPost && !known && g.OwnForm(r):
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		g.enter(w, r, r.PostFormValue("token"))
	case r.Method != http.MethodGet && r.Method != http.MethodHead && !(g.OwnForm(r) && strings.HasSuffix(r.URL.Path, describeEnd)):
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This server only reads: use GET.", http.StatusMethodNotAllowed)
	case r.Method != http.MethodPost && !g.OwnOrigin(r):
		http.Error(w, "This server answers its own pages only.", http.StatusForbidden)
	case Loopback(r.Host) && r.URL.Query().Has("token"):
		g.enter(w, r, r.URL.Query().Get("token"))
	case known, g.Asset(r):
		g.next.ServeHTTP(w, r)
	default:
		g.Ask(w, "Open the address that mleflow ui printed, which holds the token, or write the token here.")
	}
}

// Asset reports whether a request is for a part of every page, which tells nothing.
func (d Door) Asset(r *http.Request) bool {
	file := strings.TrimPrefix(r.URL.Path, d.At.Path)
	return file == "/style.css" || file == "/page.js"
}

// Ask answers with the form that takes the token. It sends the token to the address of the page
// that was asked for, and not as a part of it: proxies log addresses.
func (d Door) Ask(w http.ResponseWriter, text string) {
	form := `<main id="content"><h1>` + d.Title + `</h1><p>` + text + `</p><form method="post" class="sign-in"><label>Token ` +
		`<input type="password" name="token" required autofocus autocomplete="current-password"></label> <button>Open</button></form></main>`
	f := page.Frame{Title: d.Title, Styles: []string{d.At.Path + "/style.css"}, Scripts: []string{d.At.Path + "/page.js"}, Body: template.HTML(form)}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	_ = f.Write(w) // the reader may be gone
}

// Loopback reports whether a host is a name of this machine for which no other person can
// set an address. The port may differ, as with a tunnel.
func Loopback(host string) bool {
	name := hostname(host)
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

func hostname(host string) string { return strings.ToLower((&url.URL{Host: host}).Hostname()) }

// proxied reports whether a host is that of the reverse proxy. What a proxy says in other
// headers than Host is not read: anybody can send them.
func (d Door) proxied(host string) bool {
	return d.At.Host != "" && hostname(host) == hostname(d.At.Host)
}

// own reports whether an origin is that of our pages.
func (d Door) own(r *http.Request, origin string) bool {
	return Loopback(r.Host) && origin == "http://"+r.Host || d.proxied(r.Host) && origin == d.At.Scheme+"://"+d.At.Host
}

// OwnOrigin refuses requests from pages of another origin, including another port of this
// machine.
func (d Door) OwnOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && !d.own(r, origin) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "" || site == "same-origin" || site == "none" {
		return true
	}
	// A link elsewhere may lead here if the person follows it: nothing comes back
	// to the page that holds it.
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// OwnForm reports whether a form of one of our own pages is sent. Browsers say so in
// Sec-Fetch-Site, which no page can set. The origin is null since our pages have no referrer.
func (d Door) OwnForm(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return r.Method == http.MethodPost && r.Header.Get("Sec-Fetch-Site") == "same-origin" && (origin == "null" || d.own(r, origin))
}

// enter exchanges the token for the cookie and redirects to the address without it, so
// that the token stays out of the history and of copies of the address.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, token string) {
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		g.Ask(w, "The token is wrong. "+g.Right)
		return
	}
	g.Enter(w, r, &http.Cookie{Name: g.cookie, Value: g.session})
}

// Lasting is how long a browser stays signed in at a shared address.
const Lasting = 30 * 24 * time.Hour

// Enter gives the cookie to a browser and leads it to the address without the token.
func (d Door) Enter(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	query := r.URL.Query()
	query.Del("token")
	c.Path, c.HttpOnly, c.SameSite = cmp.Or(d.At.Path, "/"), true, http.SameSiteStrictMode
	if d.At.Host != "" { // people send each other addresses, and stay signed in
		c.SameSite, c.MaxAge, c.Secure = http.SameSiteLaxMode, int(Lasting.Seconds()), d.At.Scheme == "https" && d.proxied(r.Host)
	}
	http.SetCookie(w, c)
	to := url.URL{Path: d.At.Path + "/", RawQuery: query.Encode()}
	if p := r.URL.Path; strings.HasPrefix(p, to.Path) && len(p) > 1 && p[1] != '/' && p[1] != '\\' {
		to.Path = p
	}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

func (g *Guard) known(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.session)) == 1
}
