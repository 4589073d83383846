package transcript

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// mostMessages bounds the distinct messages in the recordings of a Player.
const mostMessages = 1 << 22

// Canonical returns the canonical form of a request's body; see
// dialect.Dialect. If it returns an error, the body is compared byte for byte.
type Canonical func(provider string, op dialect.Operation, body []byte) (dialect.Canonical, error)

// Ask is a request that needs a recorded response. Its fields are those of its
// Event.
type Ask struct {
	Provider  string
	Method    string
	Path      string
	Operation dialect.Operation
	// Asked is the requested model.
	Asked string
	// Body is decoded and complete.
	Body []byte
}

// Player answers requests with recorded responses. It is safe for concurrent
// use.
//
// A request matches a recording if both have the same path, model and canonical
// form: the settings and every message of the conversation so far. If no
// recording matches, the forms are compared again after normalisation, without
// times, durations, rates, identifiers, temporary paths, ports and process
// numbers (FORMAT.md lists the rules). The assistant's own messages are never
// normalised. Recorded.Normalised reports that normalisation was necessary.
//
// Each recording is used once. Equal requests receive their responses in the
// recorded order. If several conversations begin alike, each continues with
// responses from one recorded conversation where possible.
//
// Refused and incomplete exchanges are not replayed.
type Player struct {
	canonical Canonical
	secrets   *secret.Set

	mu         sync.Mutex
	live       *former
	recordings []recording
	exact      map[mark][]int32
	normal     map[mark][]int32
	// begun maps each beginning of a conversation to its first recording.
	// routes maps each route to its first recording.
	begun, routes map[mark]int32
	// went maps the messages sent so far to the recorded conversation that they
	// follow. missed holds requests without a recording.
	went   map[mark]int32
	missed map[mark]bool
}

// recording is one exchange that can be replayed.
type recording struct {
	reader   *Reader
	line     Span
	order    int
	sequence int
	// conversation is the first recording of the conversation.
	conversation int32
	used         bool
}

// NewPlayer plays transcripts, earlier ones first. Only live exchanges of the
// later ones are played. secrets are those that were masked during recording.
// The readers must stay open while the player is used.
func NewPlayer(canonical Canonical, secrets *secret.Set, transcripts ...*Reader) (*Player, error) {
	p := &Player{
		canonical: canonical, secrets: secrets,
		live:  newFormer(canonical, &normaliser{now: time.Now()}),
		exact: map[mark][]int32{}, normal: map[mark][]int32{},
		begun: map[mark]int32{}, routes: map[mark]int32{},
		went: map[mark]int32{}, missed: map[mark]bool{},
	}
	for order, r := range transcripts {
		if err := p.load(order, r); err != nil {
			return nil, fmt.Errorf("load recording: %w", err)
		}
	}
	for _, found := range []map[mark][]int32{p.exact, p.normal} {
		for _, list := range found {
			slices.SortFunc(list, func(a, b int32) int {
				x, y := p.recordings[a], p.recordings[b]
				return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(x.sequence, y.sequence))
			})
		}
	}
	return p, nil
}

// load adds a transcript's exchanges.
func (p *Player) load(order int, r *Reader) error {
	var forms *former
	for e, err := range r.entries() {
		if err != nil {
			return err
		}
		if forms == nil {
			forms = newFormer(p.canonical, &normaliser{now: e.Time})
		}
		if !playable(e.Event) || order > 0 && e.Replayed {
			continue
		}
		body, err := r.Request(e.Event)
		if err != nil {
			return err
		}
		f := forms.of(Ask{e.Provider, e.Method, e.Path, e.Operation, e.Asked, body})
		p.learn(recording{reader: r, order: order, line: e.Span, sequence: e.Sequence}, f)
		if len(p.begun) > mostMessages {
			return fmt.Errorf("it has more than %d different messages", mostMessages)
		}
	}
	return nil
}

// playable reports whether the response of an exchange can be replayed. The
// gateway decides again about a request that it refused, unless the provider
// could not be reached.
func playable(e *Event) bool {
	return e.Status != 0 && (e.Refused == "" || e.Refused == dialect.Unreachable) && e.Request.Dropped == 0 && e.Response.Dropped == 0
}

func (p *Player) learn(r recording, f *form) {
	n := int32(len(p.recordings))
	r.conversation = n
	for i := len(f.normal) - 2; i > 0; i-- {
		if before := p.normal[f.normal[i]]; before != nil {
			r.conversation = p.recordings[before[len(before)-1]].conversation
			break
		}
	}
	p.recordings = append(p.recordings, r)
	p.exact[f.exact] = append(p.exact[f.exact], n)
	p.normal[f.whole()] = append(p.normal[f.whole()], n)
	for _, m := range f.normal {
		if _, ok := p.begun[m]; !ok {
			p.begun[m] = n
		}
	}
	if _, ok := p.routes[f.route]; !ok {
		p.routes[f.route] = n
	}
}

// Recorded is a recording that answers a request.
type Recorded struct {
	// Event is the recorded exchange, including the Status, Headers and Failed
	// to replay.
	Event *Event
	// Normalised reports that the request and the recorded one differ in times,
	// durations and the like.
	Normalised bool

	reader *Reader
}

// Response returns the recorded body.
func (r *Recorded) Response() (io.Reader, error) { return r.reader.OpenResponse(r.Event) }

// Sampled returns the recorded tokens; see Reader.
func (r *Recorded) Sampled() (*dialect.Tokens, error) { return r.reader.Sampled(r.Event) }

// Whole reports whether the recorded body is complete. Bytes lost in a machine
// failure read as zeros, which no response contains.
func (r *Recorded) Whole() bool {
	body, err := r.Response()
	if err != nil {
		return false
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if bytes.IndexByte(buf[:n], 0) >= 0 {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// Find returns the recording of a request and uses it up. The error is a *Miss
// unless the recording cannot be read.
func (p *Player) Find(a Ask) (*Recorded, error) {
	a.Body = maskBody(p.secrets, a.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.live.of(a)
	follows := p.follows(f)
	n, normalised := p.unused(p.exact[f.exact], follows), false
	if n < 0 {
		n, normalised = p.unused(p.normal[f.whole()], follows), true
	}
	if n < 0 {
		miss, err := p.miss(a, f)
		if err != nil {
			return nil, err
		}
		if p.normal[f.whole()] == nil {
			p.missed[f.whole()] = true
		}
		return nil, miss
	}
	r := &p.recordings[n]
	e, err := r.reader.At(r.line)
	if err != nil {
		return nil, err
	}
	r.used = true
	p.went[f.whole()] = r.conversation
	return &Recorded{Event: e, Normalised: normalised, reader: r.reader}, nil
}

// follows returns the recorded conversation that a request has followed so far,
// or -1.
func (p *Player) follows(f *form) int32 {
	for i := len(f.normal) - 2; i > 0; i-- {
		if c, ok := p.went[f.normal[i]]; ok {
			return c
		}
	}
	return -1
}

// unused returns the first unused recording, preferably from the conversation,
// or -1.
func (p *Player) unused(list []int32, conversation int32) int32 {
	first := int32(-1)
	for _, n := range list {
		switch r := p.recordings[n]; {
		case r.used:
		case r.conversation == conversation:
			return n
		case first < 0:
			first = n
		}
	}
	return first
}

// mark identifies a request or the beginning of its conversation.
type mark [16]byte

// marker computes marks.
type marker struct{ h hash.Hash }

func newMarker() marker { return marker{sha256.New()} }

// of returns the mark of a sequence of fields.
func (m marker) of(fields ...[]byte) mark {
	m.h.Reset()
	var size [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(size[:], uint64(len(f)))
		_, _ = m.h.Write(size[:])
		_, _ = m.h.Write(f)
	}
	var sum [sha256.Size]byte
	m.h.Sum(sum[:0])
	return mark(sum[:16])
}

// form is a request prepared for comparison by a Player.
type form struct {
	dialect.Canonical
	// route identifies provider, method, path and operation.
	route mark
	// exact identifies the whole request. normal[i] identifies its settings and
	// first i messages after normalisation, so the last element identifies the
	// whole request.
	exact  mark
	normal []mark
}

// whole returns the mark of the request after normalisation.
func (f *form) whole() mark { return f.normal[len(f.normal)-1] }

// former makes forms. It is not safe for concurrent use.
type former struct {
	canonical Canonical
	marker    marker
	rules     *normaliser
	// seen maps the marks of messages to those of their normalised forms.
	seen map[mark]mark
}

func newFormer(canonical Canonical, rules *normaliser) *former {
	return &former{canonical, newMarker(), rules, map[mark]mark{}}
}

// of returns the form of a request.
func (r *former) of(a Ask) *form {
	f := &form{route: r.marker.of([]byte(a.Provider), []byte(a.Method), []byte(a.Path), []byte(a.Operation))}
	var err error
	if f.Canonical, err = r.canonical(a.Provider, a.Operation, a.Body); err != nil {
		// A body without a canonical form is compared byte for byte.
		f.Canonical = dialect.Canonical{Fixed: a.Body}
	}
	start := r.marker.of(f.route[:], []byte(a.Asked))
	f.exact = r.marker.of(start[:], f.Fixed)
	fixed := r.normal("", f.Fixed)
	f.normal = append(make([]mark, 0, len(f.Parts)+1), r.marker.of(start[:], fixed[:]))
	for i, p := range f.Parts {
		f.exact = r.marker.of(f.exact[:], []byte(p.Role), p.Text)
		part := r.normal(p.Role, p.Text)
		f.normal = append(f.normal, r.marker.of(f.normal[i][:], part[:]))
	}
	return f
}

// normal returns the mark of a message after normalisation.
func (r *former) normal(role string, text []byte) mark {
	exact := r.marker.of([]byte(role), text)
	if role == assistant {
		return exact
	}
	if m, ok := r.seen[exact]; ok {
		return m
	}
	if len(r.seen) >= known {
		clear(r.seen)
	}
	m := r.marker.of([]byte(role), r.rules.apply(text))
	r.seen[exact] = m
	return m
}
