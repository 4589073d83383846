package validity_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// bench is a server whose check looks at the first letter of a file: v is
// valid, e an error that holds an answer, p a panic, s slow, anything else
// invalid.
type bench struct {
	*httptest.Server
	dir string

	mu    sync.Mutex
	calls []validity.Call
	busy  int
	most  int
}

const answer = "the-answer-is-4711"

func newBench(t *testing.T, change func(*validity.Options)) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir()}
	opts := validity.Options{
		Dir: b.dir, MaxBytes: 1 << 20, Check: b.check,
		Record: func(c validity.Call) { b.mu.Lock(); defer b.mu.Unlock(); b.calls = append(b.calls, c) },
	}
	if change != nil {
		change(&opts)
	}
	b.Server = httptest.NewServer(validity.New(opts))
	t.Cleanup(b.Close)
	return b
}

func (b *bench) check(_ context.Context, path string) (validity.Verdict, error) {
	b.mu.Lock()
	b.busy++
	b.most = max(b.most, b.busy)
	b.mu.Unlock()
	defer func() { b.mu.Lock(); b.busy--; b.mu.Unlock() }()
	data, err := os.ReadFile(path)
	if err != nil {
		return validity.Verdict{}, err
	}
	switch string(data[:min(1, len(data))]) {
	case "v":
		return validity.Verdict{}, nil
	case "e":
		return validity.Verdict{}, errors.New(answer)
	case "p":
		panic(answer)
	case "s":
		time.Sleep(100 * time.Millisecond)
		return validity.Verdict{}, nil
	}
	return validity.Verdict{Class: "rows", Reason: "there are 3 rows; expected <4>"}, nil
}

func form(t *testing.T, field, file, text string) (io.Reader, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	var part io.Writer
	var err error
	if file == "" {
		part, err = w.CreateFormField(field)
	} else {
		part, err = w.CreateFormFile(field, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, text)
	_ = w.Close()
	return &body, w.FormDataContentType()
}

func (b *bench) send(t *testing.T, method, path, kind string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestReplies(t *testing.T) {
	upload := func(field, file, text string) func(*testing.T) (string, string, io.Reader) {
		return func(t *testing.T) (string, string, io.Reader) {
			body, kind := form(t, field, file, text)
			return "POST", kind, body
		}
	}
	raw := func(method, kind, text string) func(*testing.T) (string, string, io.Reader) {
		return func(*testing.T) (string, string, io.Reader) { return method, kind, strings.NewReader(text) }
	}
	tests := []struct {
		name, path string
		request    func(*testing.T) (method, kind string, body io.Reader)
		status     int
		reply      string // whole, or its beginning where it ends in …
	}{
		{"health", "/health", raw("GET", "", ""), 200, "{\"status\":\"running\"}\n"},
		{"valid", "/validate", upload("file", "submission.csv", "v"), 200, "{\"result\":\"Submission is valid.\"}\n"},
		{"invalid", "/validate", upload("file", "x.csv", "x"), 200, "{\"result\":\"Submission invalid! there are 3 rows; expected <4>\"}\n"},
		{"any name", "/validate", upload("file", "../../etc/passwd", "v"), 200, "{\"result\":\"Submission is valid.\"}\n"},
		{"empty file", "/validate", upload("file", "a.csv", ""), 200, "{\"result\":\"Submission invalid!…"},
		{"check fails", "/validate", upload("file", "a.csv", "e"), 500, "{\"details\":\"The file could not be checked. This is not its fault; try again later.\",\"error\":\"An unexpected error occurred.\"}\n"},
		{"check panics", "/validate", upload("file", "a.csv", "p"), 500, "{\"details\":\"The file could not be checked. This is not its fault; try again later.\",\"error\":\"An unexpected error occurred.\"}\n"},
		{"other field", "/validate", upload("submission", "a.csv", "v"), 400, "{\"error\":…"},
		{"field without a file", "/validate", upload("file", "", "v"), 400, "{\"error\":…"},
		{"no form", "/validate", raw("POST", "text/csv", "v"), 400, "{\"error\":…"},
		{"cut form", "/validate", raw("POST", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nv"), 400, "{\"error\":…"},
		{"too large", "/validate", upload("file", "a.csv", strings.Repeat("v", 1<<20+1)), 413, "{\"error\":\"The file has more than 1048576 bytes.…"},
		{"far too large", "/validate", upload("file", "a.csv", strings.Repeat("v", 4<<20)), 413, "{\"error\":…"},
		{"wrong method", "/validate", raw("GET", "", ""), 405, "…"},
		{"wrong path", "/answers", raw("GET", "", ""), 404, "…"},
		{"no budget", "/budget", raw("GET", "", ""), 200, "{\"limit_seconds\":null,\"elapsed_seconds\":0,\"remaining_seconds\":null}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			method, kind, body := tt.request(t)
			status, reply := b.send(t, method, tt.path, kind, body)
			begin, open := strings.CutSuffix(tt.reply, "…")
			if status != tt.status || reply != tt.reply && !(open && strings.HasPrefix(reply, begin)) {
				t.Errorf("got %d %q", status, reply)
			}
			if strings.Contains(reply, answer) || strings.Contains(reply, b.dir) {
				t.Errorf("the reply tells too much: %q", reply)
			}
			left, err := os.ReadDir(b.dir)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	b := newBench(t, nil)
	for _, text := range []string{"v", "x", "e"} {
		body, kind := form(t, "file", "a.csv", text)
		b.send(t, "POST", "/validate", kind, body)
	}
	// sha256sum of "v", "x" and "e".
	want := []validity.Call{
		{Status: 200, Bytes: 1, SHA256: "4c94485e0c21ae6c41ce1dfe7b6bfaceea5ab68e40a2476f50208e526f506080", Valid: true},
		{Status: 200, Bytes: 1, SHA256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", Class: "rows", Reason: "there are 3 rows; expected <4>"},
		{Status: 500, Bytes: 1, SHA256: "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea", Error: answer},
	}
	if diff := cmp.Diff(want, b.calls, cmpopts.IgnoreFields(validity.Call{}, "Time", "Seconds")); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// TestOneAtATime sees that many files at once are checked one by one, and that
// more than may wait are turned away.
func TestOneAtATime(t *testing.T) {
	b := newBench(t, nil)
	var wg sync.WaitGroup
	statuses := make(chan int, 20)
	for range 20 {
		body, kind := form(t, "file", "a.csv", "s")
		wg.Go(func() {
			status, _ := b.send(t, "POST", "/validate", kind, body)
			statuses <- status
		})
	}
	wg.Wait()
	close(statuses)
	count := map[int]int{}
	for s := range statuses {
		count[s]++
	}
	if b.most != 1 || count[200] == 0 || count[429] == 0 || count[200]+count[429] != 20 {
		t.Errorf("%d at once, statuses %v", b.most, count)
	}
}

func TestBudget(t *testing.T) {
	b := newBench(t, func(o *validity.Options) {
		o.Budget = func() validity.Budget { return validity.Budget{Limit: time.Minute, Elapsed: 45 * time.Second} }
	})
	if _, got := b.send(t, "GET", "/budget", "", nil); got != "{\"limit_seconds\":60,\"elapsed_seconds\":45,\"remaining_seconds\":15}\n" {
		t.Errorf("got %q", got)
	}
}

// TestServeEnds sees that Serve returns soon after its context has ended,
// though a client dawdles.
func TestServeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- validity.New(validity.Options{Dir: t.TempDir()}).Serve(ctx, l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100\r\n\r\n--x")
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it serves on")
	}
}
