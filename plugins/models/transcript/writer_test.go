package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// write opens a transcript in dir.
func write(t testing.TB, dir string, limit int64, secrets *secret.Set) *Writer {
	t.Helper()
	w, err := Open(dir, limit, secrets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// read opens the transcript in dir.
func read(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := OpenReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// add writes one exchange.
func add(w *Writer, e Event, request, response string) {
	x := w.Begin([]byte(request))
	_, _ = x.Write([]byte(response))
	if e.Status == 0 {
		e.Status = 200
	}
	x.End(e)
}

// all reads every event with its bodies.
func all(t testing.TB, r *Reader) (events []*Event, requests, responses []string) {
	t.Helper()
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		request, err := r.Request(e)
		if err != nil {
			t.Fatal(err)
		}
		response, err := r.Response(e)
		if err != nil {
			t.Fatal(err)
		}
		events, requests, responses = append(events, e), append(requests, string(request)), append(responses, string(response))
	}
	return events, requests, responses
}

func TestBodiesAreKeptByteForByte(t *testing.T) {
	bodies := []string{
		"", "{}", "not JSON [", `"`, `{"messages":[`, `{"a\"messages":[1,2,{"x":"]"}],"b":[[],[3]]}`,
		`{"messages":[{"role":"user","content":"hi"}]}`, `{"messages": [ {"role":"user"} , {"role":"user"} ] , "tools":[]}`,
		`{"input":"` + strings.Repeat("a", 5000) + `\""}`, "[1,2,3]", "\x00\xff\x1f\x8b", strings.Repeat(`{"messages":[1,`, 100),
		`{"messages":[` + strings.Repeat("1,", mostRanges+10) + `1],"tools":[2]}`,
	}
	dir := t.TempDir()
	w := write(t, dir, 1<<30, nil)
	for range 2 {
		for _, b := range bodies {
			add(w, Event{Model: "main"}, b, b)
		}
	}
	_, requests, responses := all(t, read(t, dir))
	for i, b := range append(bodies, bodies...) {
		if requests[i] != b || responses[i] != b {
			t.Errorf("body %d, %.40q, is %.40q and %.40q", i, b, requests[i], responses[i])
		}
	}
}

// conversation is a chat of some turns, as its last request. marked says that
// the last message carries a marker that moves with the next request.
func conversation(turns, size int, marked bool) string {
	var b strings.Builder
	b.WriteString(`{"model":"m","system":"` + strings.Repeat("You are careful. ", 500) + `","messages":[`)
	for i := range turns {
		if i > 0 {
			b.WriteByte(',')
		}
		role, mark := "user", ""
		if i%2 == 1 {
			role = "assistant"
		}
		if marked && i == turns-1 {
			mark = `,"cache_control":{"type":"ephemeral"}`
		}
		fmt.Fprintf(&b, `{"role":%q,"content":[{"type":"text","text":"%s"%s}]}`, role, filler(i, size), mark)
	}
	b.WriteString(`],"tools":[{"name":"bash","description":"` + strings.Repeat("Runs a command. ", 300) + `"}],"stream":true}`)
	return b.String()
}

// filler is a text that differs for each i.
func filler(i, size int) string {
	return strings.Repeat(fmt.Sprintf("%d-%x ", i, i*i), size/8)
}

// TestRepeatedHistoryIsStoredOnce holds the stored bytes of long conversations
// against those of all their requests.
func TestRepeatedHistoryIsStoredOnce(t *testing.T) {
	turns, most := 100, 0.05
	if os.Getenv("MLEFLOW_TRANSCRIPT") == "full" {
		turns, most = 1000, 0.01
	}
	for _, marked := range []bool{false, true} {
		dir := t.TempDir()
		w := write(t, dir, 8<<30, nil)
		var sum int64
		for i := range turns {
			request := conversation(2*i+1, 1000, marked)
			response := filler(i, 1000)
			add(w, Event{Model: "main"}, request, response)
			sum += int64(len(request) + len(response))
		}
		stored := sizes(t, dir)
		var all int64
		for _, n := range stored {
			all += n
		}
		fmt.Printf("BenchmarkHistory/marked=%v\t%d\t%.4g MB\t%.4g MB-stored\t%.4g percent-stored\n", marked, turns, float64(sum)/1e6, float64(all)/1e6, 100*float64(all)/float64(sum))
		if float64(all) > most*float64(sum) {
			t.Errorf("marked %v: %d bytes are stored of %d", marked, all, sum)
		}
	}
}

func sizes(t testing.TB, dir string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for _, name := range []string{EventsFile, requestsName, responsesName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		found[name] = info.Size()
	}
	return found
}

func TestGoesOnAfterKill(t *testing.T) {
	dir := t.TempDir()
	w := write(t, dir, 1<<30, nil)
	for i := range 3 {
		add(w, Event{Model: "main"}, conversation(2*i+1, 500, false), "answer")
	}
	whole := sizes(t, dir)
	under := w.Begin([]byte(conversation(9, 5000, false)))
	_, _ = under.Write(bytes.Repeat([]byte("x"), 3*block))
	add(w, Event{Model: "main"}, conversation(7, 500, false), "answer")
	after := sizes(t, dir)
	_ = w.Close()
	killed := dir
	for cut := whole[EventsFile]; cut < after[EventsFile]; cut += 7 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, EventsFile), cut); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir, 1<<30, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sizes(t, dir); got[EventsFile] != whole[EventsFile] || got[requestsName] != whole[requestsName] || got[responsesName] != whole[responsesName] {
			t.Fatalf("cut at %d: %v is kept, want %v", cut, got, whole)
		}
		add(again, Event{Model: "main"}, conversation(7, 500, false), "again")
		if got := sizes(t, dir)[requestsName] - whole[requestsName]; got > 1200 {
			t.Errorf("the conversation is stored again: %d bytes", got)
		}
		_ = again.Close()
		found, requests, responses := all(t, read(t, dir))
		if len(found) != 4 || found[3].Sequence != 4 || requests[3] != conversation(7, 500, false) || responses[3] != "again" {
			t.Fatalf("cut at %d: %d events, the last %+v", cut, len(found), found[len(found)-1])
		}
	}
}

// TestPowerLoss opens transcripts of which the file system kept less than was
// written.
func TestPowerLoss(t *testing.T) {
	for _, damage := range []func(dir string) error{
		func(dir string) error { return os.Truncate(filepath.Join(dir, requestsName), 10) },
		func(dir string) error { return os.Truncate(filepath.Join(dir, responsesName), 0) },
		func(dir string) error {
			f, err := os.OpenFile(filepath.Join(dir, EventsFile), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.Write(make([]byte, 100))
				_, _ = f.WriteString("\n{\n")
				_ = f.Close()
			}
			return err
		},
		func(dir string) error { return os.Remove(filepath.Join(dir, formatName)) },
	} {
		dir := t.TempDir()
		w := write(t, dir, 1<<30, nil)
		add(w, Event{}, conversation(3, 500, false), "first")
		_ = w.Close()
		if err := damage(dir); err != nil {
			t.Fatal(err)
		}
		w = write(t, dir, 1<<30, nil)
		add(w, Event{}, conversation(5, 500, false), "second")
		_ = w.Close()
		_, requests, responses := all(t, read(t, dir))
		if n := len(requests) - 1; requests[n] != conversation(5, 500, false) || responses[n] != "second" {
			t.Errorf("got %.60q, %q", requests[n], responses[n])
		}
	}
}

func TestLimit(t *testing.T) {
	dir := t.TempDir()
	const limit = 1 << 20
	w := write(t, dir, limit, nil)
	for i := range 500 {
		add(w, Event{Model: "main"}, fmt.Sprintf(`{"messages":["%s"]}`, filler(i, 3000)), filler(i+1000, 3000))
	}
	var sum int64
	for _, n := range sizes(t, dir) {
		sum += n
	}
	if sum > limit || sum < limit*3/4 {
		t.Errorf("%d bytes are stored", sum)
	}
	dropped, err := w.Dropped()
	if dropped == 0 || err != nil {
		t.Errorf("%d dropped, %v", dropped, err)
	}
	events, _, _ := all(t, read(t, dir))
	if len(events) < 10 || events[len(events)-1].Request.Dropped == 0 {
		t.Errorf("%d events, the last %+v", len(events), events[len(events)-1])
	}
}

func TestSecretsAreMasked(t *testing.T) {
	dir := t.TempDir()
	const key = `canary-"key"-0123456789`
	w := write(t, dir, 1<<30, secret.New(key))
	quoted, _ := json.Marshal(key)
	x := w.Begin([]byte(`{"messages":[{"content":` + string(quoted) + `}]}`))
	for _, c := range []byte("data: " + key + "\n") {
		_, _ = x.Write([]byte{c})
	}
	x.End(Event{Failed: "no answer to " + key, Path: "/v1?key=" + key, Headers: map[string]string{"X": key}})
	add(w, Event{}, "plain "+key, string(quoted))
	_, requests, _ := all(t, read(t, dir))
	if !json.Valid([]byte(requests[0])) || requests[1] != "plain ***" {
		t.Errorf("got %q", requests)
	}
	for _, name := range []string{EventsFile, requestsName, responsesName, formatName} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "canary-") {
			t.Errorf("%s has the secret: %s", name, data)
		}
	}
}

func TestExchangesAtOnce(t *testing.T) {
	dir := t.TempDir()
	w := write(t, dir, 1<<30, nil)
	var busy sync.WaitGroup
	for i := range 16 {
		busy.Go(func() {
			for turn := range 10 {
				x := w.Begin([]byte(conversation(2*turn+1, 200+i, i%2 == 0)))
				for range 100 {
					_, _ = x.Write([]byte(filler(i, 1000)))
				}
				x.End(Event{Model: fmt.Sprint(i), Asked: fmt.Sprint(turn), Time: time.Now()})
			}
		})
	}
	busy.Wait()
	events, requests, responses := all(t, read(t, dir))
	seen := map[int]bool{}
	for n, e := range events {
		var i, turn int
		_, _ = fmt.Sscan(e.Model+" "+e.Asked, &i, &turn)
		if requests[n] != conversation(2*turn+1, 200+i, i%2 == 0) || responses[n] != strings.Repeat(filler(i, 1000), 100) {
			t.Errorf("exchange %d has other bodies", e.Sequence)
		}
		seen[e.Sequence] = true
	}
	if len(seen) != 160 || !seen[1] || !seen[160] {
		t.Errorf("%d sequences", len(seen))
	}
}
