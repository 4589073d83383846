package notify

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
)

const (
	// pause is the least time between two messages of a kind to a receiver.
	pause = time.Minute
	// most is the number of notes that a message quotes, and longest the length of one in
	// characters.
	most, longest = 10, 200
)

// Message is what a receiver gets. A command gets it in JSON on standard input.
type Message struct {
	Kind     string `json:"kind"`
	Pipeline string `json:"pipeline,omitempty"`
	Run      string `json:"run,omitempty"`
	// Count is the number of events, of which Text quotes the first.
	Count int    `json:"count"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Run tells receivers about a run. It implements event.Sink.
type Run struct {
	mu      sync.Mutex
	facts   facts
	tellers []*teller
	stop    context.CancelCauseFunc
	ending  chan struct{}
}

// finished is the kind of the message that has all that is left, and its title.
const finished = "finished"

// New returns a Run that tells receivers about a pipeline's run. It must be closed.
func New(receivers []Receiver, p *engine.Program) *Run {
	ctx, stop := context.WithCancelCause(context.Background())
	r := &Run{stop: stop, ending: make(chan struct{}), facts: facts{paid: map[string]int64{}, told: map[string]time.Time{}}}
	for _, receiver := range receivers {
		if slices.Contains(receiver.On, finished) {
			receiver.On = slices.Concat([]string{finished}, receiver.On)
		}
		for _, kind := range receiver.On {
			if n := config.NotifyPercent(kind); n > 0 && !slices.Contains(r.facts.percents, n) {
				r.facts.percents = append(r.facts.percents, n)
			}
		}
		t := &teller{Receiver: receiver, send: receiver.Send, pending: map[string]*group{}, sent: map[string]time.Time{}, done: make(chan struct{})}
		r.tellers = append(r.tellers, t)
		go t.follow(ctx, r.ending)
	}
	if len(r.facts.percents) > 0 {
		r.facts.limits = limitsOf(p)
	}
	return r
}

// Emit implements event.Sink. It waits for no receiver.
func (r *Run) Emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.facts.look(e) {
		for _, t := range r.tellers {
			if slices.Contains(t.On, n.kind) {
				t.add(n, r.facts.start)
			}
		}
	}
}

// Close sends what is left, for at most a given time. It returns which receivers did not
// get every message, and why.
func (r *Run) Close(within time.Duration) (failed []string) {
	defer r.stop(nil)
	close(r.ending)
	over, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, t := range r.tellers {
		select {
		case <-t.done:
		case <-over.Done():
			r.stop(fmt.Errorf("the last message did not arrive within %v", within))
			select {
			case <-t.done:
			case <-time.After(time.Second): // which a kill does not take
			}
		}
		t.mu.Lock()
		if t.err != nil {
			failed = append(failed, fmt.Sprintf("notify %s: %d of %s failed: %v", t.Name, t.failed, view.Plural(t.tried, "message"), t.err))
		}
		t.mu.Unlock()
	}
	return failed
}

// teller tells one receiver.
type teller struct {
	Receiver
	send func(context.Context, Message) error
	done chan struct{}

	mu sync.Mutex
	// pending are the notes that have not been sent, and sent the time of the last message,
	// by kind.
	pending map[string]*group
	sent    map[string]time.Time
	// tried and failed count messages; err is the last failure.
	tried, failed int
	err           error
}

// group are notes of a kind.
type group struct {
	start event.RunStarted
	count int
	first []string // of the notes, at most
}

func (t *teller) add(n note, start event.RunStarted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.pending[n.kind]
	if g == nil {
		g = &group{}
		t.pending[n.kind] = g
	}
	if g.count, g.start = g.count+1, start; len(g.first) < most {
		text := n.text
		if t.AgentText && n.more != "" {
			text += ": " + n.more
		}
		g.first = append(g.first, line(text))
	}
}

// inert replaces what chats take for a mention or a link.
var inert = strings.NewReplacer("@", "(at)", "<", "(", ">", ")")

// line is a text on one line.
func line(text string) string { return inert.Replace(view.Cut(view.OneLine(text), longest)) }

// follow sends messages until ending is closed, and then the rest.
func (t *teller) follow(ctx context.Context, ending <-chan struct{}) {
	defer close(t.done)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for over := false; !over; {
		select {
		case <-look.C:
		case <-ending:
			over = true
		}
		for m := t.next(over); m != nil; m = t.next(over) {
			err := t.send(ctx, *m)
			t.mu.Lock()
			if t.tried++; err != nil {
				t.failed, t.err = t.failed+1, err
			}
			t.mu.Unlock()
		}
	}
}

// next takes the next message that may be sent now, or returns nil. The last message has
// everything that is left.
func (t *teller) next(last bool) (m *Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kind := range t.On {
		g := t.pending[kind]
		if g == nil || !last && (m != nil || kind == finished || time.Since(t.sent[kind]) < pause) {
			continue
		}
		delete(t.pending, kind)
		t.sent[kind] = time.Now()
		title, text := g.words(kind)
		if m == nil {
			name := filepath.Base(g.start.Pipeline)
			m = &Message{Kind: kind, Pipeline: name, Run: g.start.Run, Count: g.count, Title: line("mleflow " + name + ": " + title), Text: text}
		} else {
			m.Text += "\n\n" + title + "\n" + text
		}
	}
	return m
}

// words returns a title and a text for the notes of a kind.
func (g *group) words(kind string) (title, text string) {
	name, percent, _ := strings.Cut(kind, " ")
	k, known := kinds[kind]
	switch {
	case kind == finished:
		return g.first[0], "mleflow " + k.look + " " + g.start.Run
	case known:
		title = view.Plural(g.count, k.noun)
	default:
		k = kinds[name]
		title = view.Plural(g.count, k.noun) + " spent to " + percent
	}
	lines := g.first
	if more := g.count - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", view.Count(int64(more))))
	}
	return title, strings.Join(append(lines, "mleflow "+k.look+" "+g.start.Run), "\n")
}

// Test is a message that tries a receiver.
var Test = Message{Kind: "test", Count: 1, Title: "mleflow: test message", Text: "mleflow notify test sent this."}
