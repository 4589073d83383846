package serve

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
)

// Role is what a person may do. A greater one may do all that a smaller one may.
type Role int

// The roles. A viewer reads, an operator also submits and changes what is his, and an admin
// changes everything.
const (
	Nobody Role = iota
	Viewer
	Operator
	Admin
)

var roleNames = []string{"", "viewer", "operator", "admin"}

// String returns the name of a role, "" of Nobody.
func (r Role) String() string { return roleNames[r] }

func roleOf(name string) Role { return Role(max(0, slices.Index(roleNames, name))) }

// person is somebody who is signed in. The zero person is nobody.
type person struct {
	Name string
	Role Role
	// sum is the SHA-256 of the token, zero without one.
	sum [32]byte
	// ambient means that the browser or proxy signs every request, also one that another page
	// made.
	ambient bool
}

// people decide who sends a request.
type people struct {
	*settings
	// key signs cookies.
	key    []byte
	cookie string
	failed failures
}

var (
	errToken   = errors.New("the token is wrong")
	errHeader  = errors.New("the proxy names nobody who may sign in")
	errLimited = errors.New("too many wrong tokens came from your address; wait a minute")
)

// who returns who sends a request, nobody without a credential. Whom the proxy names comes
// first: it may sign people in by an Authorization of its own. A wrong token is an error, even
// next to a right cookie.
func (p *people) who(r *http.Request) (person, error) {
	if p.Proxy != nil && p.Proxy.Header != "" && p.fromProxy(r) {
		if names := r.Header.Values(p.Proxy.Header); len(names) > 0 {
			return p.byName(names)
		}
	}
	if text := r.Header.Values("Authorization"); len(text) > 0 {
		scheme, token, _ := strings.Cut(text[0], " ")
		if len(text) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return person{}, errToken
		}
		return p.byToken(r, strings.TrimSpace(token))
	}
	if c, err := r.Cookie(p.cookie); err == nil {
		return p.bySession(c.Value), nil
	}
	return person{}, nil
}

// byToken compares a token with all, so that the time tells nothing.
func (p *people) byToken(r *http.Request, token string) (who person, err error) {
	peer := p.peer(r)
	if p.failed.limited(peer) {
		return who, errLimited
	}
	sum := sha256.Sum256([]byte(token))
	for _, one := range p.people {
		if subtle.ConstantTimeCompare(sum[:], one.sum[:]) == 1 && tokenText.Regexp().MatchString(token) {
			who = one
		}
	}
	if who.Role == Nobody {
		p.failed.add(peer)
		return who, errToken
	}
	return who, nil
}

// byName returns the person whom the proxy names.
func (p *people) byName(names []string) (person, error) {
	if len(names) != 1 || !userName.Regexp().MatchString(names[0]) {
		return person{}, errHeader
	}
	who := person{Name: names[0], Role: p.role}
	for _, one := range p.people {
		if one.Name == who.Name {
			who = one
		}
	}
	if who.ambient = true; who.Role == Nobody {
		return person{}, errHeader
	}
	return who, nil
}

// session is the value of a cookie: name, end in seconds, and the signature. It ends with the
// token that the person has now.
func (p *people) session(who person, end time.Time) string {
	text := who.Name + "~" + strconv.FormatInt(end.Unix(), 10)
	return text + "~" + p.sign("session", text, string(who.sum[:]))
}

func (p *people) bySession(value string) person {
	name, rest, _ := strings.Cut(value, "~")
	seconds, _, _ := strings.Cut(rest, "~")
	end, err := strconv.ParseInt(seconds, 10, 64)
	for _, one := range p.people {
		if err != nil || one.Name != name || one.sum == [32]byte{} || time.Now().Unix() > end {
			continue
		}
		if want := p.session(one, time.Unix(end, 0)); subtle.ConstantTimeCompare([]byte(value), []byte(want)) == 1 {
			one.ambient = true
			return one
		}
	}
	return person{}
}

// sign returns 32 bytes as 43 characters that only this server can make of the parts.
func (p *people) sign(parts ...string) string {
	mac := hmac.New(sha256.New, p.key)
	fmt.Fprintf(mac, "%q", parts)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// enter signs a browser in by the token of the form.
func (p *people) enter(w http.ResponseWriter, r *http.Request, door ui.Door) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Second)) // a test's has none
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	who, err := p.byToken(r, r.PostFormValue("token"))
	if err != nil {
		door.Ask(w, strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".")
		return
	}
	door.Enter(w, r, &http.Cookie{Name: p.cookie, Value: p.session(who, time.Now().Add(ui.Lasting))})
}

// leave removes the cookie from a browser.
func (p *people) leave(w http.ResponseWriter, r *http.Request, door ui.Door) {
	http.SetCookie(w, &http.Cookie{Name: p.cookie, Path: cmp.Or(door.At.Path, "/"), MaxAge: -1, HttpOnly: true}) // not Secure: by http that would be refused
	http.Redirect(w, r, door.At.Path+"/", http.StatusSeeOther)
}

// remote is the address that is connected.
func remote(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

func (p *people) fromProxy(r *http.Request) bool {
	at := remote(r)
	return slices.ContainsFunc(p.proxies, func(net netip.Prefix) bool { return net.Contains(at) })
}

// peer is whose failures are counted: what the proxy says, or who is connected.
func (p *people) peer(r *http.Request) string {
	if forwarded := r.Header.Values("X-Forwarded-For"); len(forwarded) > 0 && p.fromProxy(r) {
		last := forwarded[len(forwarded)-1]
		if at, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
			return at.String()
		}
	}
	return remote(r).String()
}

// maxFailures is the number of wrong tokens a minute that an address may send.
const maxFailures = 20

// failures counts wrong tokens by the address that sent them.
type failures struct {
	mu    sync.Mutex
	since time.Time
	by    map[string]int
}

func (f *failures) limited(peer string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.since) < time.Minute && f.by[peer] >= maxFailures
}

func (f *failures) add(peer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.since) >= time.Minute || len(f.by) > 100_000 {
		f.since, f.by = time.Now(), map[string]int{}
	}
	f.by[peer]++
}
