package ui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// talk is a conversation with tools as OpenAI's clients send it.
type talk struct {
	w        *transcript.Writer
	start    time.Time
	messages []any
	n        int
}

// exchange sends what was said so far with more messages, and writes the reply.
func (c *talk) exchange(status int, reply map[string]any, more ...any) {
	c.messages = append(c.messages, more...)
	e := c.w.Begin(must(json.Marshal(map[string]any{"model": "gpt", "messages": c.messages})))
	reply["role"] = "assistant"
	_, _ = e.Write(must(json.Marshal(map[string]any{"choices": []any{map[string]any{"message": reply}}})))
	e.End(transcript.Event{Time: c.start.Add(time.Duration(c.n) * time.Minute), Model: "main", Provider: "openai", Operation: "chat", Method: "POST", Path: "/v1/chat/completions", Asked: "gpt", Status: status, Seconds: 1.5,
		Charge: transcript.Charge{Usage: &dialect.Usage{Input: 400, Output: 100}, Cost: 5_000_000}})
	c.n++
	if status == 200 {
		c.messages = append(c.messages, reply)
	}
}

// calling is a reply that calls tools, by pairs of names and arguments.
func calling(text string, n int, calls ...string) map[string]any {
	var list []any
	for i := 0; i < len(calls); i += 2 {
		list = append(list, map[string]any{"id": fmt.Sprintf("c%d-%d", n, i/2), "type": "function", "function": map[string]any{"name": calls[i], "arguments": calls[i+1]}})
	}
	return map[string]any{"content": text, "tool_calls": list}
}

func resulting(id, text string) any {
	return map[string]any{"role": "tool", "tool_call_id": id, "content": text}
}

// worker is an attempt whose agent writes code and runs it.
func (l *lab) worker() attempt {
	a := usual("aide", "0", "a note")
	dir := l.t.TempDir()
	w := must(transcript.Open(dir, 4<<30, nil))
	c := &talk{w: w, start: l.start}
	c.exchange(200, calling("I look at the data first.", 1, "bash", `{"cmd":"ls -la /home/data && head -n 3 train.csv"}`, "bash", `{"cmd":"nproc"}`), map[string]any{"role": "system", "content": "You are a data scientist."}, map[string]any{"role": "user", "content": "Solve the competition. Write submission.csv.\n\n```python\nimport pandas as pd\nprint(pd.__version__)\n```\nGood luck."})
	c.exchange(200, calling("", 2, "write_file", `{"path":"main.py","content":"import pandas as pd\n\ndef main():\n    df = pd.read_csv('train.csv')  # all of it\n    print(df.shape)\n\nmain()\n"}`), resulting("c1-0", "total 8\ntrain.csv\nid,label\n1,3"), resulting("c1-1", "16"))
	c.exchange(200, calling("Now I run it.", 3, "bash", `{"cmd":"python main.py"}`), resulting("c2-0", "written"))
	c.exchange(200, map[string]any{"content": "It failed: I read the *other* file."}, resulting("c3-0", "Traceback (most recent call last):\n  File \"main.py\", line 4, in main\nFileNotFoundError: train.csv"))
	c.exchange(429, map[string]any{"content": ""}, map[string]any{"role": "user", "content": "go on"})
	for i := range 60 {
		c.exchange(200, map[string]any{"content": fmt.Sprintf("Fold %d has 0.%d.", i, 900+i)}, map[string]any{"role": "user", "content": "next"})
	}
	if err := w.Close(); err != nil {
		l.t.Fatal(err)
	}
	a.recorded = dir
	a.logs["output.log"] = "2026-03-01 09:30:02 INFO reading train.csv\n\x1b[33mUserWarning: old format\x1b[0m\nepoch 1 loss 0.91\nTraceback (most recent call last):\n  File \"main.py\", line 4, in main\nFileNotFoundError: train.csv\nDEBUG cache is warm\nepoch 2 loss 0.52\n"
	a.logs["fit/fold-0.log"] = "fold 0\n"
	a.code = map[string]string{"README.md": "# Solution\n\nRun `main.py`.\n", "config.yaml": "folds: 5\nmodel: lightgbm\n", "src/features/text.py": "X = 1\n", "src/train.py": "Y = 2\n",
		"main.py": "\"\"\"Trains the model.\"\"\"\nimport os\n\nfrom src import train\n\n\n@train.timed\ndef main(folds: int = 5) -> float:\n    # a fold each\n    scores = [train.fold(i) for i in range(folds)]\n    return sum(scores) / len(scores)\n\n\nif __name__ == '__main__':\n    print(f'score {main():.4f}')\n"}
	return a
}

// TestTurns shows calls with their results, code in its language, failures, and the
// change of the code around a turn.
func TestTurns(t *testing.T) {
	l := newLab(t)
	a := l.worker()
	r := l.write("demo.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	at := pagesOf(r.ID(), a)["attempt Transcript"]
	_, body := l.get(at)
	call := body[strings.Index(body, `<div class="call">`):]
	for _, want := range []string{"</span> -la /home/data", "total 8", "nproc", ">16</pre>"} {
		i := strings.Index(call, want)
		if i < 0 {
			t.Fatalf("the call has no %q after what was before: %.400s", want, call)
		}
		call = call[i:]
	}
	for _, want := range []string{`<span class="hk">import</span>`, `<span class="hk">def</span>`, "2 results of earlier calls", "Change of the code around this turn", `class="turn failed" id="turn-5"`, `id="turn-50"`, "turn=51#turn-51", `href="` + strings.ReplaceAll(at, "&", "&amp;") + `&amp;turn=5#turn-5">5</a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the transcript has no %s", want)
		}
	}
	if strings.Contains(body, `id="turn-51"`) || strings.Contains(body, "&#34;cmd&#34;") || strings.Count(body, " open>") != 1 {
		t.Error("the page has a turn of the next one, an argument as JSON, or another open turn")
	}
	if _, body := l.get(at + "&turn=52"); !strings.Contains(body, `id="turn-52" open`) || strings.Contains(body, `id="turn-50"`) {
		t.Error("a permanent link does not open its turn")
	}
	_, body = l.get(at + "&errors=1")
	if strings.Count(body, "<li><a ") != 2 || !strings.Contains(body, ">Turn 3<") || !strings.Contains(body, ">Turn 5<") {
		t.Errorf("errors are %s", body[strings.Index(body, "<h2>"):])
	}
	if status, body := l.get("/turns/" + r.ID() + "?turn=4&address=" + escaped(`step.agent-run.solve["aide/demo-digits/0"]`)); status != 200 || !strings.Contains(body, "I read the *other* file") {
		t.Errorf("a turn is %d, %s", status, body)
	}
}

// TestLargeTranscript opens and searches a transcript of as many MiB as
// MLEFLOW_TRANSCRIPT says, and prints times and memory.
func TestLargeTranscript(t *testing.T) {
	size := 16
	_, _ = fmt.Sscan(os.Getenv("MLEFLOW_TRANSCRIPT"), &size)
	l := newLab(t)
	a := usual("aide", "0", "x")
	a.recorded = t.TempDir()
	w := must(transcript.Open(a.recorded, 4<<30, nil))
	c := &talk{w: w, start: l.start}
	random := rand.New(rand.NewPCG(1, 2))
	line := func() string {
		return fmt.Sprintf("epoch %d loss %f accuracy %f\n", random.IntN(1000), random.Float64(), random.Float64())
	}
	const piece = 20 << 10
	for n := 0; n < size<<20/piece; n++ {
		if n%40 == 0 {
			c.messages = nil // as agents that summarise
		}
		text := strings.Repeat(line(), piece/80)
		c.exchange(200, calling(text, n, "bash", `{"cmd":"python train.py"}`), map[string]any{"role": "user", "content": strings.Repeat(line(), piece/80)})
	}
	c.exchange(200, map[string]any{"content": "the needle is here"}, map[string]any{"role": "user", "content": "go on"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := l.write("large.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	at := pagesOf(r.ID(), a)["attempt Transcript"]
	timed := func(name, path, want string) {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began, cpu := time.Now(), processor()
		_, body := l.get(path)
		took := time.Since(began)
		cpu = processor() - cpu
		runtime.GC()
		runtime.ReadMemStats(&after)
		fmt.Printf("BenchmarkTranscript/%s\t%d MiB\t%d turns\t%d ms\t%d ms-cpu\t%d KiB-page\t%.1f MiB-allocated\t%.1f MiB-kept\n", name, size, c.n, took.Milliseconds(), cpu.Milliseconds(), len(body)>>10, float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20))
		if !strings.Contains(body, want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
	timed("open", at, `id="turn-1" open`)
	timed("again", at, `id="turn-1" open`)
	timed("middle", at+fmt.Sprintf("&turn=%d", c.n/2), fmt.Sprintf(`id="turn-%d" open`, c.n/2))
	timed("search", at+"&find=the+needle", "Searched up to turn")
	timed("rest", at+fmt.Sprintf("&find=the+needle&since=%d", c.n-1), "<mark><bdi>the needle</bdi></mark>")
}

// processor is the time of processors that the test has used.
func processor() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
