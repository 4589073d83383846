package export

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// tokens writes an exchange with its tokens.
func tokens(w *transcript.Writer, said string, prompt []uint32, ids []uint32, logprobs []float64, problem string) {
	x := w.Begin([]byte(`{"model":"m","messages":[{"role":"user","content":"` + said + `"}]}`))
	_, _ = x.Write([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"yes"}}]}`))
	x.Sampled(&dialect.Tokens{Prompt: prompt, Choices: []dialect.Sample{{IDs: ids, Logprobs: logprobs}}, Problem: problem})
	x.End(transcript.Event{Model: "policy", Provider: "openai", Operation: dialect.ChatCompletions, Status: 200})
}

// written writes the trajectories of two attempts.
func written(t *testing.T, format string) (*trajectoryExport, []byte) {
	t.Helper()
	one, two := &results.Attempt{Address: "one", Agent: "a", Seed: "0"}, &results.Attempt{Address: "two", Agent: "a", Seed: "1"}
	score := grading.Number(0.5)
	one.Report.CompetitionID, one.Report.Score, one.Report.ExactScore = "c", &score, &score
	one.Report.ValidSubmission, one.Report.AboveMedian = true, true
	two.Report.CompetitionID = "c"
	rows, err := export.Attempts([]*results.Attempt{one, two})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	x := &trajectoryExport{rows: rows, said: TrajectoriesJSON{Format: format}}
	end := x.writer(&out)
	none := math.NaN()
	for row, write := range []func(*transcript.Writer){
		func(w *transcript.Writer) {
			tokens(w, "first", []uint32{1, 2}, []uint32{3, 4}, []float64{-0.5, none}, "")
			tokens(w, "second", []uint32{1, 2, 3, 4, 5}, []uint32{6}, []float64{-9999}, "")
			tokens(w, "third", []uint32{1, 2, 7}, []uint32{8}, nil, "")
		},
		func(w *transcript.Writer) {
			tokens(w, "first", []uint32{4000000000}, []uint32{2}, []float64{-0.25}, "")
			tokens(w, "second", []uint32{1}, nil, nil, "the server reported no token ids")
		},
	} {
		if err := x.segments(recorded(t, write), row, rows.Columns()[1].Text(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	return x, out.Bytes()
}

func TestTrajectoriesAsJSON(t *testing.T) {
	x, out := written(t, "jsonl")
	want := TrajectoriesJSON{Format: "jsonl", Attempts: 2, Trajectories: 3, Sampled: 5, Skipped: []SkippedJSON{{"two", 2, "the server reported no token ids"}}}
	if d := cmp.Diff(want, x.said); d != "" {
		t.Error(d)
	}
	var lines []map[string]any
	for line := range strings.Lines(string(out)) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, one)
	}
	attempt := lines[0]["attempt"].(map[string]any)
	if attempt["score"] != 0.5 || attempt["above_median"] != true || attempt["valid_submission"] != true || attempt["address"] != "one" {
		t.Errorf("attempt %v", attempt)
	}
	type list = []any
	for i, want := range []map[string]any{
		{
			"segment": 0., "break": nil, "prompt_ids": list{1., 2.}, "completion_ids": list{3., 4., 5., 6.},
			"completion_mask": list{1., 1., 0., 1.}, "completion_logprobs": list{-0.5, nil, nil, -9999.},
		},
		{"segment": 1., "break": map[string]any{"reason": "prompt", "after": 2., "common": 2.}, "completion_ids": list{8.}, "completion_logprobs": list{nil}},
		{"segment": 0., "break": nil, "prompt_ids": list{4e9}, "completion_ids": list{2.}},
	} {
		for name, value := range want {
			if d := cmp.Diff(value, lines[i][name]); d != "" {
				t.Errorf("line %d, %s (-want +got):\n%s", i+1, name, d)
			}
		}
	}
	if got, _ := json.Marshal(lines[0]["messages"]); string(got) != `[{"role":"user","text":"second"},{"role":"assistant","text":"yes"}]` {
		t.Errorf("messages %s", got)
	}
}

// TestTrajectoriesAsParquet reads the file with pyarrow, where Python has it.
func TestTrajectoriesAsParquet(t *testing.T) {
	_, out := written(t, "parquet")
	file := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	python := os.Getenv("MLEFLOW_PYTHON")
	if python == "" || exec.Command(python, "-c", "import pyarrow").Run() != nil {
		t.Skip("MLEFLOW_PYTHON names no Python with pyarrow")
	}
	got, err := exec.Command(python, "-c", `import json, sys, pyarrow.parquet as pq
names = ["address", "score", "segment", "prompt_ids", "completion_ids", "completion_mask", "completion_logprobs"]
for row in pq.read_table(sys.argv[1]).to_pylist(): print(json.dumps([row[n] for n in names]))`, file).CombinedOutput()
	want := `["one", 0.5, 0, [1, 2], [3, 4, 5, 6], [1, 1, 0, 1], [-0.5, null, null, -9999.0]]
["one", 0.5, 1, [1, 2, 7], [8], [1], [null]]
["two", null, 0, [4000000000], [2], [1], [-0.25]]
`
	if string(got) != want || err != nil {
		t.Errorf("%v\n%s", err, got)
	}
}
