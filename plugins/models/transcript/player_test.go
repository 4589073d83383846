package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// chat is the body of a request of the tests' own dialect.
type chat struct {
	Model    string `json:"model"`
	ID       string `json:"id"`
	Messages []said `json:"messages"`
}

type said struct{ Role, Text string }

// canonical is the canonical form of a chat: its id differs between runs.
func canonical(_ string, _ dialect.Operation, body []byte) (dialect.Canonical, error) {
	var c chat
	if err := json.Unmarshal(body, &c); err != nil {
		return dialect.Canonical{}, err
	}
	out := dialect.Canonical{Fixed: []byte(c.Model)}
	for _, m := range c.Messages {
		text, _ := json.Marshal(m.Text)
		out.Parts = append(out.Parts, dialect.Part{Role: m.Role, Text: text})
	}
	return out, nil
}

var asked = Ask{Provider: "test", Method: "POST", Path: "/chat", Operation: "chat", Asked: "m"}

func ask(id string, messages ...said) Ask {
	a := asked
	a.Body, _ = json.Marshal(chat{"m", id, messages})
	return a
}

func record(w *Writer, a Ask, response string) {
	add(w, Event{Provider: a.Provider, Method: a.Method, Path: a.Path, Operation: a.Operation, Asked: a.Asked, Time: time.Now()}, string(a.Body), response)
}

func player(t testing.TB, dirs ...string) *Player {
	t.Helper()
	var readers []*Reader
	for _, d := range dirs {
		readers = append(readers, read(t, d))
	}
	p, err := NewPlayer(canonical, nil, readers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is the response that is played, with a star if the request was
// normalised, or the miss.
func answer(t testing.TB, p *Player, a Ask) string {
	t.Helper()
	found, err := p.Find(a)
	if err != nil {
		return err.Error()
	}
	r, err := found.Response()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if found.Normalised {
		return string(body) + "*"
	}
	return string(body)
}

func TestPlayer(t *testing.T) {
	dir := t.TempDir()
	w := write(t, dir, 1<<30, nil)
	hello := said{"user", "hello"}
	ran := func(text string) []said { return []said{hello, {"assistant", "run"}, {"tool", text}} }
	record(w, ask("1", hello), "first")
	record(w, ask("2", hello), "second")
	record(w, ask("3", ran("accuracy 0.91 in 1.23s")...), "done")
	e := Event{Provider: "test", Method: "POST", Path: "/chat", Operation: "chat", Asked: "m", Status: 403, Refused: dialect.NotAllowed}
	add(w, e, string(ask("4", said{"user", "refused"}).Body), "no")

	for _, tt := range []struct {
		name string
		ask  []Ask
		want []string
	}{
		{"in order, then used up", []Ask{ask("9", hello), ask("8", hello), ask("7", hello)}, []string{
			"first", "second", "no recording answers this request: it was recorded 2 times, and answered as often already"}},
		{"the same", []Ask{ask("9", ran("accuracy 0.91 in 1.23s")...)}, []string{"done"}},
		{"another duration", []Ask{ask("9", ran("accuracy 0.91 in 1.57s")...)}, []string{"done*"}},
		{"another result", []Ask{ask("9", ran("accuracy 0.92 in 1.23s")...)}, []string{
			`no recording answers this request: the nearest is exchange 3 of the recording; message 3 (tool) differs
  recorded: "accuracy 0.91 in <duration>"
  asked:    "accuracy 0.92 in <duration>"`}},
		{"the assistant said something else", []Ask{ask("9", hello, said{"assistant", "wait 1.5s"}, said{"tool", "x"})}, []string{
			`no recording answers this request: the nearest is exchange 1 of the recording, which the conversation goes beyond; nothing was recorded after its 1 messages`}},
		{"refused then", []Ask{ask("9", said{"user", "refused"})}, []string{
			`no recording answers this request: the nearest is exchange 1 of the recording; message 1 (user) differs
  recorded: "hello"
  asked:    "refused"`}},
		{"another path", []Ask{{Provider: "test", Method: "GET", Path: "/models"}}, []string{
			`no recording answers this request: none of the 3 recorded requests is GET /models`}},
		{"left the recording", []Ask{ask("9", hello, said{"user", "go"}), ask("9", hello, said{"user", "go"}, said{"assistant", "x"})}, []string{
			`no recording answers this request: the nearest is exchange 1 of the recording, which the conversation goes beyond; nothing was recorded after its 1 messages`,
			`no recording answers this request: its conversation left the recording with an earlier request`}},
	} {
		p := player(t, dir)
		for i, a := range tt.ask {
			if got := answer(t, p, a); got != tt.want[i] {
				t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want[i])
			}
		}
	}
}

// agent is a program that talks, several conversations at once: what it says
// depends on the answers, its ids, times and tool outputs differ from run to run.
type agent struct {
	run   int
	reply func(a Ask) string
	pause func()
}

// solve returns all answers by conversation.
func (g agent) solve(conversations, turns int) []string {
	answers := make([]string, conversations)
	var busy sync.WaitGroup
	for c := range conversations {
		busy.Go(func() {
			// Some conversations begin alike.
			said := []said{{"user", fmt.Sprintf("task %d, now %s", c/3, time.Now().Add(time.Duration(g.run)*time.Minute).Format(time.RFC3339))}}
			for turn := range turns {
				g.pause()
				reply := g.reply(ask(fmt.Sprint(g.run, c, turn), said...))
				answers[c] += reply + "\n"
				said = append(said, struct{ Role, Text string }{"assistant", reply}, struct{ Role, Text string }{"tool",
					fmt.Sprintf("%d lines\nran %s in %d.%03ds, pid %d, /tmp/tmp%08x/out", len(reply)+turn, reply, g.run%7, g.run+c, 1000+g.run*37+c, g.run*7919+c)})
			}
		})
	}
	busy.Wait()
	return answers
}

// TestReplayIsEqual records an agent and plays it back a hundred times, with
// conversations at once and in another order each time.
func TestReplayIsEqual(t *testing.T) {
	dir := t.TempDir()
	w := write(t, dir, 1<<30, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	recorded := agent{0, func(a Ask) string {
		mu.Lock()
		reply := fmt.Sprintf("reply %d", rng.Int())
		mu.Unlock()
		record(w, a, reply)
		return reply
	}, func() {}}.solve(9, 12)
	for run := 1; run <= 100; run++ {
		p := player(t, dir)
		var normalised atomic.Int64
		got := agent{run, func(a Ask) string {
			reply, changed := strings.CutSuffix(answer(t, p, a), "*")
			if changed {
				normalised.Add(1)
			}
			return reply
		}, func() {
			mu.Lock()
			pause := time.Duration(rng.IntN(50)) * time.Microsecond
			mu.Unlock()
			time.Sleep(pause) // shuffles the conversations
		}}.solve(9, 12)
		// Conversations that begin alike may change places.
		for c := 0; c < 9; c += 3 {
			same(t, fmt.Sprintf("run %d", run), got[c:c+3], recorded[c:c+3])
		}
		if len(got) != 9 || len(p.recordings) != 108 || slices.ContainsFunc(p.recordings, func(r recording) bool { return !r.used }) || normalised.Load() == 0 {
			t.Fatalf("run %d: %d conversations, %d recordings, %d replies normalised", run, len(got), len(p.recordings), normalised.Load())
		}
	}
}

func same(t *testing.T, name string, got, want []string) {
	t.Helper()
	left := map[string]int{}
	for _, w := range want {
		left[w]++
	}
	for _, g := range got {
		if left[g]--; left[g] < 0 {
			t.Fatalf("%s: this was not recorded:\n%s\nbut\n%s", name, g, strings.Join(want, "\n"))
		}
	}
}

// TestResume plays what two attempts that died left, and tells where the
// conversation goes on live.
func TestResume(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	messages := []said{{"user", "go"}}
	w := write(t, first, 1<<30, nil)
	for i := range 3 {
		record(w, ask("a", messages...), fmt.Sprint("step ", i))
		messages = append(messages, said{"assistant", fmt.Sprint("step ", i)}, said{"tool", "ok"})
	}
	w = write(t, second, 1<<30, nil)
	replayed := Event{Provider: "test", Method: "POST", Path: "/chat", Operation: "chat", Asked: "m", Replay: Replay{Replayed: true, Recording: 1}}
	add(w, replayed, string(ask("b", messages[:1]...).Body), "step 0")
	record(w, ask("b", messages...), "step 3")

	p := player(t, first, second)
	for i := range 4 {
		if got := answer(t, p, ask("c", messages[:min(2*i+1, len(messages))]...)); got != fmt.Sprint("step ", i) {
			t.Errorf("step %d: got %s", i, got)
		}
	}
	if got := answer(t, p, ask("c", messages[:1]...)); !strings.Contains(got, "recorded once") {
		t.Errorf("what was replayed in the second attempt counts again: %s", got)
	}
	messages = append(messages, said{"assistant", "step 3"}, said{"tool", "ok"})
	_, err := p.Find(ask("c", messages...))
	if miss, ok := errors.AsType[*Miss](err); !ok || !strings.Contains(miss.Why, "exchange 2 of the recording, which the conversation goes beyond") {
		t.Errorf("got %v", err)
	}
	if len(p.recordings) != 4 || slices.ContainsFunc(p.recordings, func(r recording) bool { return !r.used }) {
		t.Errorf("got %+v", p.recordings)
	}
}
