package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const trainer = "tttttttttttttttttttttttttttttttttttttttt"

const rolloutFiles = `
-- serve.hcl --
listen = "127.0.0.1:0"
user "trainer" {
  role  = "operator"
  token = "file:token"
}
rollouts {
  pipeline = "train.hcl"
  runtime  = "sandbox"
  parallel = 2
}
-- train.hcl --
agent "copy" {
  command = ["sh", "-c", "cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv"]
}
-- token --
` + trainer + "\n"

// rolloutServer is a server of rollouts.
type rolloutServer struct {
	b     *testing.B
	pid   int
	cache string
	url   string
}

// serveRollouts starts a server, which ends with the benchmark.
func serveRollouts(b *testing.B) *rolloutServer {
	b.Helper()
	dir := b.TempDir()
	for _, file := range strings.Split(rolloutFiles, "\n-- ")[1:] {
		name, text, _ := strings.Cut(file, " --\n")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	s := &rolloutServer{b: b, cache: filepath.Join(dir, "cache")}
	cmd := exec.Command(binary, "serve", "--config", filepath.Join(dir, "serve.hcl"), "--cache-dir", s.cache)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = exec.Command("chmod", "-R", "u+w", dir).Run()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	s.url = "http://" + strings.TrimSuffix(strings.Fields(line)[3], ".") + "/api/v1/rollouts"
	return s
}

// rolled is a rollout as a trainer reads it.
type rolled struct {
	ID, State, Run, Error string
	Started, Ended        time.Time
	Result                *struct {
		Reward float64
		Parts  struct{ Valid bool }
	}
}

func (s *rolloutServer) send(method, path string, body any) (one rolled) {
	s.b.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.b.Fatal(err)
	}
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		s.b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+trainer)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.b.Fatal(err)
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &one)
	}
	if err != nil || res.StatusCode >= 400 {
		s.b.Fatalf("%s %s: %d: %s: %v", method, path, res.StatusCode, text, err)
	}
	return one
}

// roll asks for n rollouts and waits for them.
func (s *rolloutServer) roll(key string, n int, data any) (list []rolled) {
	s.b.Helper()
	for i := range n {
		list = append(list, s.send("POST", "", map[string]any{"key": key + strconv.Itoa(i), "agent": "copy", "competition": "demo-digits", "data": data, "seed": i}))
	}
	for i := range list {
		for list[i].Ended.IsZero() {
			list[i] = s.send("GET", "/"+list[i].ID+"?wait=60s", nil)
		}
		if list[i].State != "done" || !list[i].Result.Parts.Valid {
			s.b.Fatalf("%+v", list[i])
		}
	}
	return list
}

// times reads from the journal of a rollout how long its agent ran and its grading took.
func (s *rolloutServer) times(one rolled) (agent, grade time.Duration) {
	s.b.Helper()
	text, err := os.ReadFile(filepath.Join(s.cache, "runs", one.Run, "events.jsonl"))
	if err != nil {
		s.b.Fatal(err)
	}
	var began, grading time.Time
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type, Kind, Phase string
			Time, Started     time.Time
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.b.Fatal(err)
		}
		switch e.Type + " " + e.Phase + e.Kind {
		case "step_phase running":
			began = e.Started
		case "step_phase harvesting":
			agent = e.Time.Sub(began)
		case "step_started grade":
			grading = e.Time
		case "step_finished grade":
			grade = e.Time.Sub(grading)
		}
	}
	return agent, grade
}

// used is the processor time of the server in seconds, without that of its children; 0 where
// no /proc has it.
func (s *rolloutServer) used() (sum float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	if fields := strings.Fields(rest); len(fields) > 12 {
		for _, field := range fields[11:13] {
			ticks, _ := strconv.ParseFloat(field, 64)
			sum += ticks / 100
		}
	}
	return sum
}

// BenchmarkRollouts makes rollouts of an agent that copies the sample submission, two at a time,
// and reports the engine's part of each: from its turn to its reward, without the agent's own
// time. MLEFLOW_BENCH_ROLLOUTS is their number, 500 otherwise.
func BenchmarkRollouts(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("MLEFLOW_BENCH_ROLLOUTS"))
	if err != nil {
		n = 500
	}
	for _, data := range []struct {
		name string
		data any
	}{{"rehearsal", "rehearsal"}, {"micro", map[string]int{"micro": 20, "seed": 1}}} {
		b.Run(data.name, func(b *testing.B) {
			s := serveRollouts(b)
			s.roll("first", 1, data.data) // prepares the data
			for b.Loop() {
				start, used := time.Now(), s.used()
				var ours, grades []time.Duration
				for _, one := range s.roll(fmt.Sprint(start.UnixNano(), "-"), n, data.data)[1:] { // the first is cached
					agent, grade := s.times(one)
					ours, grades = append(ours, one.Ended.Sub(one.Started)-agent), append(grades, grade)
				}
				slices.Sort(ours)
				slices.Sort(grades)
				b.ReportMetric(ours[len(ours)/2].Seconds(), "s-median")
				b.ReportMetric(ours[len(ours)*99/100].Seconds(), "s-p99")
				b.ReportMetric(grades[len(grades)/2].Seconds()*1000, "ms-grade")
				b.ReportMetric((s.used()-used)/float64(n)*1000, "ms-processor")
				b.ReportMetric(float64(n)/time.Since(start).Minutes(), "rollouts/minute")
			}
		})
	}
}
