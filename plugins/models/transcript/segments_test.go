package transcript_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// sampledCalls writes exchanges with tokens, nil for one without, and opens the transcript.
func sampledCalls(t *testing.T, calls ...*dialect.Tokens) *transcript.Reader {
	t.Helper()
	dir := t.TempDir()
	w := openTokens(t, dir)
	for i, c := range calls {
		writeTokens(w, i, c)
	}
	if n, err := w.Dropped(); n > 0 || err != nil {
		t.Fatal(n, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func openTokens(t *testing.T, dir string) *transcript.Writer {
	t.Helper()
	w, err := transcript.Open(dir, 64<<20, secret.New("0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func writeTokens(w *transcript.Writer, i int, c *dialect.Tokens) {
	x := w.Begin([]byte(fmt.Sprintf(`{"messages":[{"role":"user","content":"%d"}]}`, i)))
	_, _ = x.Write([]byte(`{"choices":[]}`))
	e := transcript.Event{Model: "main", Provider: "openai", Operation: dialect.ChatCompletions, Status: 200, Charge: transcript.Charge{Usage: &dialect.Usage{Output: 1}}}
	if c != nil {
		x.Sampled(c)
	}
	x.End(e)
}

func call(prompt []uint32, choices ...[]uint32) *dialect.Tokens {
	t := &dialect.Tokens{Prompt: prompt}
	for _, ids := range choices {
		s := dialect.Sample{IDs: ids}
		for _, id := range ids {
			s.Logprobs = append(s.Logprobs, -float64(id)/3)
		}
		t.Choices = append(t.Choices, s)
	}
	return t
}

// segmentsOf returns the segments and the skipped exchanges.
func segmentsOf(t *testing.T, r *transcript.Reader) (list []*transcript.Segment, skipped []string) {
	t.Helper()
	for s, err := range r.Segments(func(n int, problem string) { skipped = append(skipped, fmt.Sprint(n, " ", problem)) }) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list, skipped
}

func TestSegments(t *testing.T) {
	nan := math.NaN()
	r := sampledCalls(t,
		call([]uint32{1, 2}, []uint32{3, 4}),
		call([]uint32{1, 2, 3, 4, 5}, []uint32{6}),           // continues
		call([]uint32{1, 2, 3, 9}, []uint32{7}, []uint32{8}), // the history changed; two choices
		call([]uint32{1, 2, 3, 9, 8, 5}, []uint32{6}),        // the agent took the second
		nil, // not asked
		&dialect.Tokens{Prompt: []uint32{1}, Problem: "the response broke off"}, // cut
		call([]uint32{1, 2, 3, 9, 8, 5, 6, 5}, []uint32{7}),                     // what was between is not known
	)
	list, skipped := segmentsOf(t, r)
	want := []*transcript.Segment{
		{
			Model: "main", IDs: []uint32{1, 2, 3, 4, 5, 6}, Prompt: 2, Mask: []uint8{1, 1, 0, 1}, Logprobs: []float64{-1, -4. / 3, nan, -2},
			Calls: []transcript.SegmentCall{{1, 0, 2, 2}, {2, 0, 5, 1}},
		},
		{
			Model: "main", IDs: []uint32{1, 2, 3, 9, 7}, Prompt: 4, Mask: []uint8{1}, Logprobs: []float64{-7. / 3},
			Calls: []transcript.SegmentCall{{3, 0, 4, 1}}, Break: &transcript.Break{Reason: "prompt", After: 2, Common: 3},
		},
		{
			Model: "main", IDs: []uint32{1, 2, 3, 9, 8, 5, 6}, Prompt: 4, Mask: []uint8{1, 0, 1}, Logprobs: []float64{-8. / 3, nan, -2},
			Calls: []transcript.SegmentCall{{3, 1, 4, 1}, {4, 0, 6, 1}}, Break: &transcript.Break{Reason: "choice", After: 3, Common: 4},
		},
		{
			Model: "main", IDs: []uint32{1, 2, 3, 9, 8, 5, 6, 5, 7}, Prompt: 8, Mask: []uint8{1}, Logprobs: []float64{-7. / 3},
			Calls: []transcript.SegmentCall{{7, 0, 8, 1}},
			Break: &transcript.Break{Reason: "missing", After: 4, Common: 7, Missing: 6, Problem: "the response broke off"},
		},
	}
	if d := cmp.Diff(want, list, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(transcript.Segment{}, "Last")); d != "" {
		t.Errorf("segments (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"5 the server was not asked for token ids in the operation chat.completions", "6 the response broke off"}, skipped); d != "" {
		t.Error(d)
	}
}

// TestSegmentsHaveAllTokens: whatever agents send, the tokens under the mask are those that
// were sampled, each once, and every segment begins as its prompts do.
func TestSegmentsHaveAllTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(most int) (ids []uint32) {
		for range 1 + random.IntN(most) {
			ids = append(ids, uint32(random.IntN(3))) // few ids, so that beginnings agree by chance
		}
		return ids
	}
	for range 60 {
		var calls []*dialect.Tokens
		histories := [][]uint32{some(4), some(4)}
		want := map[string][]uint32{}
		for n := 1; n <= 40; n++ {
			at := random.IntN(len(histories))
			switch random.IntN(8) {
			case 0: // the agent rewrites its history
				histories[at] = slices.Concat(histories[at][:random.IntN(len(histories[at]))], some(3))
			case 1: // or begins another conversation
				histories = append(histories, some(5))
			}
			var choices [][]uint32
			for range 1 + random.IntN(3)/2 {
				choices = append(choices, some(6))
			}
			c := call(slices.Clone(histories[at]), choices...)
			if random.IntN(10) == 0 {
				c.Problem = "lost"
			} else {
				for i, ids := range choices {
					want[fmt.Sprint(n, " ", i)] = ids
				}
			}
			calls = append(calls, c)
			histories[at] = slices.Concat(histories[at], choices[random.IntN(len(choices))], some(3))
		}
		list, _ := segmentsOf(t, sampledCalls(t, calls...))
		got := map[string][]uint32{}
		for _, s := range list {
			masked := 0
			for _, c := range s.Calls {
				from, to := c.Start-s.Prompt, c.Start-s.Prompt+c.Sampled
				if name := fmt.Sprint(c.Sequence, " ", c.Choice); got[name] == nil {
					got[name] = s.IDs[c.Start : c.Start+c.Sampled]
				} else {
					t.Fatalf("%s is there twice", name)
				}
				if !slices.Equal(s.IDs[:c.Start], calls[c.Sequence-1].Prompt) || slices.Contains(s.Mask[from:to], 0) {
					t.Fatalf("exchange %d at %d of %+v", c.Sequence, c.Start, s)
				}
				for i, p := range s.Logprobs[from:to] {
					if p != -float64(s.IDs[c.Start+i])/3 {
						t.Fatalf("log-probability %v of %+v", p, s)
					}
				}
				masked += c.Sampled
			}
			for i, m := range s.Mask {
				if masked -= int(m); m == 0 && !math.IsNaN(s.Logprobs[i]) {
					t.Fatalf("a log-probability of what was not sampled: %+v", s)
				}
			}
			if masked != 0 || len(s.Mask) != len(s.IDs)-s.Prompt || len(s.Mask) != len(s.Logprobs) {
				t.Fatalf("%+v", s)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	}
}

// TestTokensOfLongConversations: a history that each prompt repeats is stored once, also
// after the transcript was opened again.
func TestTokensOfLongConversations(t *testing.T) {
	dir := t.TempDir()
	var history []uint32
	var calls []*dialect.Tokens
	for i := range uint32(200) {
		for k := range uint32(100) {
			history = append(history, i*100+k)
		}
		calls = append(calls, call(slices.Clone(history), []uint32{i, i + 1}))
		history = append(history, i, i+1)
	}
	w := openTokens(t, dir)
	for i, c := range calls[:150] {
		writeTokens(w, i, c)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = openTokens(t, dir)
	for i, c := range calls[150:] {
		writeTokens(w, 150+i, c)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "tokens.bin"))
	if err != nil || info.Size() > int64(4*2*len(history)) {
		t.Errorf("%v, %d bytes for %d tokens", err, info.Size(), len(history))
	}
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, skipped := segmentsOf(t, r)
	if len(list) != 1 || len(skipped) > 0 || !slices.Equal(list[0].IDs, history) {
		t.Errorf("%d segments, skipped %v", len(list), skipped)
	}
}

// TestHostileTokens: ranges that a stranger writes are errors, and a transcript without room
// says so.
func TestHostileTokens(t *testing.T) {
	r := sampledCalls(t, call([]uint32{1}, []uint32{2}))
	var e *transcript.Event
	for one, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		e = one
	}
	body := func(at, n int64) transcript.Body { return transcript.Body{Pieces: [][2]int64{{at, n}}} }
	many := make([]transcript.Sample, 1000)
	for i := range many {
		many[i].IDs.Pieces = slices.Repeat([][2]int64{{0, 8}}, 1<<15)
	}
	for name, s := range map[string]transcript.Sampling{
		"beyond the file": {Prompt: body(4, 400)}, "negative": {Prompt: body(-4, 4)}, "overflow": {Prompt: body(1<<62, 1<<62)}, "half an id": {Prompt: body(0, 3)},
		"too many": {Choices: many}, "uneven": {Choices: []transcript.Sample{{IDs: body(0, 8), Logprobs: body(0, 8)}}},
	} {
		e.Sampling = &s
		if got, err := r.Sampled(e); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	dir := t.TempDir()
	w, err := transcript.Open(dir, 4000, nil)
	if err != nil {
		t.Fatal(err)
	}
	writeTokens(w, 1, call(make([]uint32, 1000), []uint32{2}))
	if n, _ := w.Dropped(); n != 1 {
		t.Errorf("dropped %d", n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(filepath.Join(dir, transcript.EventsFile))
	if err != nil || !strings.Contains(string(line), "has no space left") {
		t.Errorf("%s, %v", line, err)
	}
}
