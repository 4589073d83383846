package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// policy is the content security policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard passes only requests of the person who started the server to a handler.
type Guard struct {
	// token is in the address that is printed, session in the cookie.
	token, session string
	cookie         string
	next           http.Handler
}

// NewGuard returns a guard with a new token. Name distinguishes its cookie from
// those of servers at other ports, to which browsers send it, too.
func NewGuard(name string, next http.Handler) *Guard {
	return &Guard{token: secret(), session: secret(), cookie: "mleflow-" + name, next: next}
}

// Token returns the token that the first address must hold as the parameter
// "token".
func (g *Guard) Token() string { return g.token }

func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !loopback(r.Host):
		http.Error(w, "This server answers to localhost and 127.0.0.1 only.", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && !ownForm(r):
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "This server only reads: use GET.", http.StatusMethodNotAllowed)
	case r.Method != http.MethodPost && !ownOrigin(r):
		http.Error(w, "This server answers its own pages only.", http.StatusForbidden)
	case r.URL.Query().Has("token"):
		g.enter(w, r)
	case !g.known(r):
		http.Error(w, "Open the address that mleflow ui printed; it holds the token.", http.StatusForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// loopback reports whether a host is a name of this machine for which no other person can
// set an address. The port may differ, as with a tunnel.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == "[::1]"
}

// ownOrigin refuses requests from pages of another origin, including another port of this
// machine.
func ownOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "" || site == "same-origin" || site == "none" {
		return true
	}
	// A link elsewhere may lead here if the person follows it: nothing comes back
	// to the page that holds it.
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// ownForm reports whether a form of one of our own pages is sent to the one address that
// takes one. Browsers say so in Sec-Fetch-Site, which no page can set. The origin is null
// since our pages have no referrer.
func ownForm(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, describeEnd) && r.Header.Get("Sec-Fetch-Site") == "same-origin" && (origin == "null" || origin == "http://"+r.Host)
}

// enter exchanges the token for the cookie and redirects to the address without it, so
// that the token stays out of the history and of copies of the address.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("token")), []byte(g.token)) != 1 {
		http.Error(w, "The token is wrong. Open the address that mleflow ui printed when it started.", http.StatusForbidden)
		return
	}
	query.Del("token")
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	to := url.URL{Path: "/", RawQuery: query.Encode()}
	if len(r.URL.Path) > 1 && r.URL.Path[1] != '/' && r.URL.Path[1] != '\\' {
		to.Path = r.URL.Path
	}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

func (g *Guard) known(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.session)) == 1
}
