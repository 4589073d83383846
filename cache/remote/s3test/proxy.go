package s3test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault is an error between client and server.
type Fault string

// The faults.
const (
	// ResetRequest resets the connection while the request is being read; the
	// server never sees it.
	ResetRequest Fault = "reset request"
	// LoseAnswer lets the server do the work and closes the connection.
	LoseAnswer Fault = "lose answer"
	// LosePut is LoseAnswer for PUT requests only.
	LosePut Fault = "lose put"
	// ResetAnswer resets the connection at a random byte of the answer.
	ResetAnswer Fault = "reset answer"
	// Truncate ends the answer's body early, without a reset.
	Truncate Fault = "truncate"
	// Flip changes one bit of the answer's body.
	Flip Fault = "flip"
	// Busy answers 503 SlowDown, Internal 500.
	Busy     Fault = "busy"
	Internal Fault = "internal"
	// Slow sends the answer in small pieces.
	Slow Fault = "slow"
	// Stale answers a list request with the first answer to it.
	Stale Fault = "stale"
)

// Proxy is a proxy that injects faults.
type Proxy struct {
	// Addr is the address at which it listens.
	Addr   string
	server string
	client http.Client

	mu     sync.Mutex
	rng    *rand.Rand
	rate   float64
	faults []Fault
	counts map[Fault]int
	total  int
	lists  map[string][]byte
}

// StartProxy starts a proxy for the server at addr, without faults at first.
// The same seed makes the same choices in the same order.
func StartProxy(t testing.TB, addr string, seed uint64) *Proxy {
	p := &Proxy{server: addr, rng: rand.New(rand.NewPCG(seed, 1)), counts: map[Fault]int{}, lists: map[string][]byte{}}
	p.client.Transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.Addr = s.Listener.Addr().String()
	return p
}

// Set injects faults into a share of the requests.
func (p *Proxy) Set(rate float64, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate, p.faults = rate, faults
}

// Counts returns how often each fault was injected.
func (p *Proxy) Counts() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make(map[Fault]int, len(p.counts))
	maps.Copy(counts, p.counts)
	return counts
}

// Made returns how many faults were injected, and into how many requests.
func (p *Proxy) Made() (faults, requests int) {
	for _, n := range p.Counts() {
		faults += n
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return faults, p.total
}

// pick chooses the fault of a request, and where in its bytes it is.
func (p *Proxy) pick(r *http.Request) (f Fault, where float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
	if len(p.faults) == 0 || p.rng.Float64() >= p.rate {
		return "", 0
	}
	f = p.faults[p.rng.IntN(len(p.faults))]
	if f == Stale && !isList(r) || f == Flip && r.Method != http.MethodGet || f == LosePut && r.Method != http.MethodPut {
		return "", 0
	}
	p.counts[f]++
	return f, p.rng.Float64()
}

func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, where := p.pick(r)
	switch f {
	case ResetRequest:
		_, _ = io.CopyN(io.Discard, r.Body, int64(where*float64(max(r.ContentLength, 0))))
		reset(w)
		return
	case Busy:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case Internal:
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	answer, body, err := p.ask(r)
	if err != nil {
		reset(w)
		return
	}
	if f == LoseAnswer || f == LosePut {
		reset(w)
		return
	}
	if isList(r) {
		body = p.list(r, f, body)
	}
	maps.Copy(w.Header(), answer.Header)
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	}
	w.WriteHeader(answer.StatusCode)
	deliver(w, f, where, body)
}

// ask forwards a request unchanged, since its signature covers the host.
func (p *Proxy) ask(r *http.Request) (*http.Response, []byte, error) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = "http", p.server
	answer, err := p.client.Do(out)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, body, err
}

// list remembers the first answer to a request, and returns it when it should
// be stale.
func (p *Proxy) list(r *http.Request, f Fault, body []byte) []byte {
	q := r.URL.Query()
	key := q.Get("prefix") + "\n" + q.Get("continuation-token")
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok := p.lists[key]
	if !ok {
		p.lists[key] = body
	}
	if f == Stale && ok {
		return old
	}
	return body
}

func deliver(w http.ResponseWriter, f Fault, where float64, body []byte) {
	at := min(int(where*float64(len(body))), max(0, len(body)-1))
	switch {
	case f == ResetAnswer:
		_, _ = w.Write(body[:at])
		_ = http.NewResponseController(w).Flush()
		reset(w)
	case f == Truncate && len(body) > 0:
		_, _ = w.Write(body[:at])
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	case f == Flip && len(body) > 0:
		body = append([]byte(nil), body...)
		body[at] ^= 1 << (at % 8)
		_, _ = w.Write(body)
	case f == Slow:
		for len(body) > 0 {
			n := min(len(body), 1+len(body)/4)
			_, _ = w.Write(body[:n])
			_ = http.NewResponseController(w).Flush()
			body = body[n:]
			time.Sleep(time.Millisecond)
		}
	default:
		_, _ = w.Write(body)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, strings.ToLower(code))
}

// reset closes a connection with a TCP reset, before any answer unless it was
// flushed. hangUp closes it normally.
func reset(w http.ResponseWriter) { end(w, true) }

func hangUp(w http.ResponseWriter) { end(w, false) }

func end(w http.ResponseWriter, abort bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && abort {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
