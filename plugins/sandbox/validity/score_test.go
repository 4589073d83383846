package validity_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// labels are the held-out labels of the tests, a letter a row.
const labels = "abbabaabbaababba"

// accuracy is the share of equal letters. The first letters of a file may ask for
// something else: N has no score, P panics, E fails and K kills the process.
func accuracy(_ context.Context, path string) (*float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch text[0] {
	case 'N':
		return nil, nil
	case 'P':
		panic(labels)
	case 'E':
		return nil, errors.New(labels)
	case 'K':
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	right := 0
	for i := range len(labels) {
		if text[i] == labels[i] {
			right++
		}
	}
	score := float64(right) / float64(len(labels))
	return &score, nil
}

// queryOptions are those of the tests: a file is valid if it has a letter a row.
func queryOptions(dir string) validity.QueryOptions {
	return validity.QueryOptions{
		Dir: dir, Most: 3, Report: validity.ReportScore, Score: accuracy,
		Check: func(_ context.Context, path string) (validity.Verdict, error) {
			text, err := os.ReadFile(path)
			if err == nil && len(text) != len(labels) {
				return validity.Verdict{Class: "rows", Reason: fmt.Sprintf("there are %d rows; expected %d", len(text), len(labels))}, nil
			}
			return validity.Verdict{}, err
		},
		Elapsed: func() time.Duration { return 90 * time.Second },
	}
}

func openQueries(t *testing.T, o validity.QueryOptions) *validity.Queries {
	t.Helper()
	q, err := validity.OpenQueries(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// newScorer is a bench with a validation score.
func newScorer(t *testing.T, dir string, change func(*validity.QueryOptions)) *bench {
	t.Helper()
	o := queryOptions(dir)
	if change != nil {
		change(&o)
	}
	q := openQueries(t, o)
	return newBench(t, func(o *validity.Options) { o.Queries = q })
}

// ask sends a file to /score until it is its turn.
func (b *bench) ask(t *testing.T, text string) (int, map[string]any) {
	t.Helper()
	for {
		body, kind := form(t, "file", "v.csv", text)
		status, reply := b.send(t, "POST", "/score", kind, body)
		if strings.Contains(reply, labels) || strings.Contains(reply, b.dir) {
			t.Errorf("the reply tells too much: %q", reply)
		}
		if status == http.StatusTooManyRequests && strings.Contains(reply, "wait to be checked") {
			continue
		}
		all := map[string]any{}
		if err := json.Unmarshal([]byte(reply), &all); err != nil {
			t.Fatalf("%d %q: %v", status, reply, err)
		}
		return status, all
	}
}

// expect compares a reply with the wanted status and fields.
func expect(t *testing.T, what string, status int, reply map[string]any, want int, fields map[string]any) {
	t.Helper()
	if status != want {
		t.Errorf("%s: status %d, want %d: %v", what, status, want, reply)
	}
	for name, value := range fields {
		if fmt.Sprint(reply[name]) != fmt.Sprint(value) {
			t.Errorf("%s: %s is %v, want %v: %v", what, name, reply[name], value, reply)
		}
	}
}

func letters(text string) string { return (text + strings.Repeat("c", len(labels)))[:len(labels)] }

// TestScore asks for scores until none is left.
func TestScore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newScorer(t, dir, nil)
	for _, step := range []struct {
		text   string
		status int
		fields map[string]any
	}{
		{letters("ab"), 200, map[string]any{"score": 0.125, "best": 0.125, "left": 2, "is_lower_better": false}},
		{"short", 422, map[string]any{"left": 2, "error": "Submission invalid! there are 5 rows; expected 16"}},
		{letters("a"), 200, map[string]any{"score": 0.0625, "best": 0.125, "left": 1}},
		{letters("ab"), 200, map[string]any{"score": 0.125, "best": 0.125, "left": 1}}, // the same query
		{letters("N"), 422, map[string]any{"left": 0}},
		{letters("N"), 422, map[string]any{"left": 0}},
		{letters("abb"), 403, map[string]any{"left": 0, "error": "No queries are left: all 3 are used."}},
		{"short", 422, map[string]any{"left": 0}},
		{"other", 403, nil}, // no verdicts either
		{letters("a"), 200, map[string]any{"score": 0.0625, "best": 0.125, "left": 0}},
	} {
		status, reply := b.ask(t, step.text)
		expect(t, step.text, status, reply, step.status, step.fields)
	}
	text, err := os.ReadFile(filepath.Join(dir, validity.QueriesFile))
	if err != nil {
		t.Fatal(err)
	}
	list, lost := validity.ParseQueries(text)
	if len(list) != 4 || lost > 0 || *list[0].Score != 0.125 || list[0].Elapsed != 90 || list[1].Number != 0 || list[3].Outcome != "invalid" {
		t.Errorf("%+v, %d lost", list, lost)
	}
	kept, err := os.ReadFile(filepath.Join(dir, validity.KeptFile(list[0].SHA256)))
	if err != nil || string(kept) != letters("ab") {
		t.Errorf("kept %q, %v", kept, err)
	}
	var state map[string]any
	_, now := b.send(t, "GET", "/score", "", nil)
	if err := json.Unmarshal([]byte(now), &state); err != nil || state["left"] != 0.0 || state["queries"] != 3.0 {
		t.Errorf("state %s", now)
	}
}

// TestReports sees what each report tells, and that none tells more than the rounded scores.
func TestReports(t *testing.T) {
	t.Parallel()
	scores := map[string]float64{"1": 0.123449, "2": 0.123441, "3": 0.5, "4": 0.2}
	for report, want := range map[string][]string{
		validity.ReportScore:  {"0.1234", "0.1234", "0.5", "0.2"},
		validity.ReportRank:   {"1 of 1", "1 of 2", "1 of 3", "2 of 4"},
		validity.ReportBetter: {"true", "false", "true", "false"},
	} {
		for _, lower := range []bool{false, true} {
			b := newScorer(t, t.TempDir(), func(o *validity.QueryOptions) {
				o.Most, o.Report, o.LowerIsBetter = 4, report, lower
				o.Score = func(_ context.Context, path string) (*float64, error) {
					text, err := os.ReadFile(path)
					score := scores[string(text[:1])]
					if lower {
						score = -score
					}
					return &score, err
				}
			})
			for i, want := range want {
				status, reply := b.ask(t, letters(strconv.Itoa(i+1)))
				got := map[string]string{
					validity.ReportScore: strings.TrimPrefix(fmt.Sprint(reply["score"]), "-"), validity.ReportRank: fmt.Sprintf("%v of %v", reply["rank"], reply["of"]), validity.ReportBetter: fmt.Sprint(reply["better"]),
				}[report]
				fields := 3
				if report != validity.ReportBetter {
					fields = 4
				}
				if status != 200 || got != want || len(reply) != fields || reply["is_lower_better"] != lower {
					t.Errorf("%s, query %d: got %s, want %s: %v", report, i+1, got, want, reply)
				}
			}
		}
	}
}

// TestQueryFaults sees that a scorer that fails or panics costs one query, and that the
// same file is scored when it works again.
func TestQueryFaults(t *testing.T) {
	t.Parallel()
	works := false
	b := newScorer(t, t.TempDir(), func(o *validity.QueryOptions) {
		o.Score = func(ctx context.Context, path string) (*float64, error) {
			if works {
				score := 0.5
				return &score, nil
			}
			return accuracy(ctx, path)
		}
	})
	for i, text := range []string{letters("P"), letters("E")} {
		for range 2 {
			status, reply := b.ask(t, text)
			expect(t, text, status, reply, 500, map[string]any{"error": "An unexpected error occurred."})
		}
		_, now := b.send(t, "GET", "/score", "", nil)
		if want := fmt.Sprintf(`"left":%d`, 2-i); !strings.Contains(now, want) {
			t.Errorf("%s, want %s", now, want)
		}
	}
	works = true
	status, reply := b.ask(t, letters("P"))
	expect(t, "again", status, reply, 200, map[string]any{"score": 0.5, "left": 1})
}

// TestEvery sees the shortest time between two queries.
func TestEvery(t *testing.T) {
	t.Parallel()
	b := newScorer(t, t.TempDir(), func(o *validity.QueryOptions) { o.Every = time.Hour })
	status, reply := b.ask(t, letters("a"))
	expect(t, "first", status, reply, 200, map[string]any{"left": 2})
	body, kind := form(t, "file", "v.csv", letters("b"))
	resp, err := http.Post(b.URL+"/score", kind, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	wait, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	if resp.StatusCode != 429 || wait < 3000 || wait > 3600 || !strings.Contains(string(text), `"left":2`) {
		t.Errorf("%d, Retry-After %d, %s", resp.StatusCode, wait, text)
	}
	status, reply = b.ask(t, letters("a"))
	expect(t, "the same file", status, reply, 200, map[string]any{"left": 2})
	status, reply = b.ask(t, "short")
	expect(t, "an invalid file", status, reply, 422, map[string]any{"left": 2})
}

// TestFreeInvalid sees that invalid files are free as often as there are queries.
func TestFreeInvalid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newScorer(t, dir, nil)
	for i, left := range []int{3, 3, 3, 2, 1, 0} {
		status, reply := b.ask(t, strings.Repeat("x", i+1))
		expect(t, "invalid", status, reply, 422, map[string]any{"left": left})
	}
	again := newScorer(t, dir, nil)
	status, reply := again.ask(t, letters("a"))
	expect(t, "none is left", status, reply, 403, nil)
}

// TestQueriesAtOnce sends many different files at once: exactly the queries are spent.
func TestQueriesAtOnce(t *testing.T) {
	t.Parallel()
	const most, sent = 20, 10_000
	dir := t.TempDir()
	b := newScorer(t, dir, func(o *validity.QueryOptions) { o.Most = most })
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	files := make(chan int)
	handler := b.Config.Handler
	for range 200 {
		wg.Go(func() {
			for i := range files {
				body, kind := form(t, "file", "v.csv", fmt.Sprintf("%0*d", len(labels), i))
				r := httptest.NewRequest(http.MethodPost, "/score", body)
				r.Header.Set("Content-Type", kind)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				mu.Lock()
				statuses[w.Code]++
				mu.Unlock()
			}
		})
	}
	for i := range sent {
		files <- i
	}
	close(files)
	wg.Wait()
	for i := 0; statuses[200] < most; i++ { // of those at once, most were turned away
		if status, _ := b.ask(t, fmt.Sprintf("%0*d", len(labels), sent+i)); status != 200 {
			break
		}
		statuses[200]++
	}
	if statuses[200] != most {
		t.Errorf("statuses %v, want %d answers", statuses, most)
	}
	status, reply := b.ask(t, letters("a"))
	expect(t, "none is left", status, reply, 403, nil)
	text, _ := os.ReadFile(filepath.Join(dir, validity.QueriesFile))
	if list, lost := validity.ParseQueries(text); len(list) != most || lost > 0 {
		t.Errorf("%d queries, %d lost", len(list), lost)
	}
}

// killVariable has the folder of the queries for a test that starts itself again.
const killVariable = "MLEFLOW_TEST_QUERIES"

// TestQueryKilled kills the process between the count of a query and its answer.
func TestQueryKilled(t *testing.T) {
	if dir := os.Getenv(killVariable); dir != "" {
		newScorer(t, dir, nil).ask(t, letters("K"))
		t.Fatal("it lives")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestQueryKilled$")
	cmd.Env = append(os.Environ(), killVariable+"="+dir)
	if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed: %v", err)
	}
	b := newScorer(t, dir, func(o *validity.QueryOptions) {
		o.Score = func(context.Context, string) (*float64, error) { score := 0.25; return &score, nil }
	})
	status, reply := b.ask(t, letters("a"))
	expect(t, "another file", status, reply, 200, map[string]any{"left": 1})
	status, reply = b.ask(t, letters("K"))
	expect(t, "the same file", status, reply, 200, map[string]any{"left": 1, "score": 0.25})
}

// TestQueriesDamaged sees that a log that somebody cut off or wrote into never has fewer
// queries than lines.
func TestQueriesDamaged(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"cut":     func(text string) string { return text[:len(text)-20] },
		"garbage": func(text string) string { return text + "\x00\xff{\n" },
		"empty":   func(text string) string { return text + "{}\n\n" },
		"huge":    func(text string) string { return text + strings.Repeat("x", 1<<20) },
		"number":  func(text string) string { return text + `{"query":-1,"sha256":"00"}` },
	} {
		dir := t.TempDir()
		b := newScorer(t, dir, nil)
		b.ask(t, letters("a"))
		path := filepath.Join(dir, validity.QueriesFile)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // opened again, it is no different
			b = newScorer(t, dir, nil)
			_, now := b.send(t, "GET", "/score", "", nil)
			if !strings.Contains(now, `"left":1`) {
				t.Errorf("%s: %s", name, now)
			}
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, validity.QueriesFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := validity.OpenQueries(queryOptions(dir)); err == nil {
		t.Error("a link is followed")
	}
}

// TestScoreAttacks sends what is no form, and what is too large or too slow.
func TestScoreAttacks(t *testing.T) {
	t.Parallel()
	b := newScorer(t, t.TempDir(), nil)
	for _, c := range []struct {
		kind, body string
		want       int
	}{
		{"text/csv", letters("a"), 400},
		{"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nv", 400},
		{"multipart/form-data; boundary=x", strings.Repeat("--x\r\n\r\n", 1<<12), 400},
		{"", "", 400},
	} {
		if status, reply := b.send(t, "POST", "/score", c.kind, strings.NewReader(c.body)); status != c.want {
			t.Errorf("%.40q: %d %s", c.body, status, reply)
		}
	}
	status, _ := b.ask(t, strings.Repeat("v", 4<<20))
	expect(t, "too large", status, nil, 413, nil)
	for _, text := range []string{"", "\x00\xff", "PK\x03\x04" + strings.Repeat("\x00", 1000), "\x1f\x8b" + strings.Repeat("\x00", 1000)} {
		status, reply := b.ask(t, text)
		if status != 422 && status != 403 {
			t.Errorf("%.10q: %d %v", text, status, reply)
		}
	}
	slow, err := net.Dial("tcp", b.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(slow, "POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100\r\n\r\n--x")
	if status, now := b.send(t, "GET", "/score", "", nil); status != 200 { // while the slow one has its turn
		t.Errorf("%d %s", status, now)
	}
	_ = slow.Close()
	packed, kind := gzipped(t)
	r, err := http.NewRequest(http.MethodPost, b.URL+"/score", packed)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("a compressed form: %d; nothing may be unpacked", resp.StatusCode)
	}
	if _, now := b.send(t, "GET", "/score", "", nil); !strings.Contains(now, `"left":2`) {
		t.Errorf("%s: only the fourth invalid file costs a query", now)
	}
	if status, _ := newBench(t, nil).send(t, "POST", "/score", "", nil); status != 404 {
		t.Errorf("without a validation score: %d", status)
	}
}

// gzipped is a form of zeros that is a thousand times as large once it is unpacked.
func gzipped(t *testing.T) (io.Reader, string) {
	t.Helper()
	body, kind := form(t, "file", "v.csv", strings.Repeat("0", 3<<20))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.Copy(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &packed, kind
}

// TestProbing says how many labels an agent learns by changing one row a query: docs/validation.md
// has the figures.
func TestProbing(t *testing.T) {
	t.Parallel()
	for report, want := range map[string]int{validity.ReportScore: 8, validity.ReportRank: 8, validity.ReportBetter: 8} {
		b := newScorer(t, t.TempDir(), func(o *validity.QueryOptions) { o.Most, o.Report = 9, report })
		guess := []byte(strings.Repeat("a", len(labels)))
		last := 0.0
		for i := -1; i < 8; i++ { // the first query has no change
			if i >= 0 {
				guess[i] = 'b'
			}
			status, reply := b.ask(t, string(guess))
			if status != 200 {
				t.Fatal(status, reply)
			}
			better := reply["better"] == true || reply["rank"] == 1.0 && i >= 0
			if score, ok := reply["score"].(float64); ok {
				better, last = score > last, max(last, score)
			}
			if i >= 0 && !better {
				guess[i] = 'a'
			}
		}
		learned := 0
		for i := range 8 {
			if guess[i] == labels[i] {
				learned++
			}
		}
		if learned != want {
			t.Errorf("%s: %d labels, want %d", report, learned, want)
		}
	}
}
