package e2e

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	leaderboardcmd "github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// The seeds of attempts that runs of their own have.
const (
	longer     = 4 // in a class with a longer time limit
	shorter    = 6 // and in one with a time limit that ends the agents
	unprovided = 7 // the provider fails
	hangs      = 8 // until mleflow is killed
	forked     = 9 // it asks for a checkpoint, from which a fork begins
)

// plantedAgent is what both agents run. It asks a model, and does what DOES says of the
// competition and the seed: "digits/0=3,cancer/0=crash". A number is that of the answers of
// which it is wrong.
func plantedAgent() error {
	seed := os.Getenv("MLEFLOW_SEED")
	body, err := json.Marshal(object{"model": "m-1", "max_tokens": 100, "messages": []object{{"role": "user", "content": "seed " + seed}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the model answers with status %d", res.StatusCode)
	}
	sample, err := rows(os.Getenv("MLEFLOW_SAMPLE"))
	if err != nil {
		return err
	}
	for _, competition := range []string{"digits", "cancer"} {
		known, err := rows(filepath.Join(os.Getenv("AGENT_DIR"), competition+".csv"))
		if err != nil {
			return err
		}
		if slices.Equal(known[0][:2], sample[0][:2]) {
			_, does, _ := strings.Cut(","+os.Getenv("DOES"), ","+competition+"/"+seed+"=")
			does, _, _ = strings.Cut(does, ",")
			return plantedEnd(does, sample, known)
		}
	}
	return errors.New("the competition is none of those that are planted")
}

// plantedEnd ends an attempt in some way.
func plantedEnd(does string, sample, known [][]string) error {
	switch does {
	case "crash":
		return errors.New("ValueError: the column pixel_65 is missing")
	case "idle":
		return nil
	case "hang", "stall":
		time.Sleep(time.Minute) // it is killed meanwhile
		return nil
	case "invalid":
		sample = sample[:len(sample)-1]
	}
	wrong, _ := strconv.Atoi(does)
	if err := submit(wrong, sample, known); err != nil {
		return err
	}
	switch request := filepath.Join(os.Getenv("AGENT_DIR"), "checkpoint.request"); does {
	case "linger":
		time.Sleep(time.Minute) // it is stopped long before
	case "fork":
		time.Sleep(time.Second) // checkpoints are named by whole seconds
		if err := os.WriteFile(request, nil, 0o644); err != nil {
			return err
		}
		for _, err := os.Stat(request); err == nil; _, err = os.Stat(request) {
			time.Sleep(100 * time.Millisecond) // until the checkpoint was taken
		}
	}
	return nil
}

// submit writes the known answers behind the first ones, which are those of the sample.
func submit(wrong int, sample, known [][]string) error {
	answers := map[string]string{}
	for _, row := range known {
		answers[row[0]] = row[1]
	}
	for i, row := range sample {
		if answer, ok := answers[row[0]]; ok && i > wrong {
			row[1] = answer
		}
	}
	f, err := os.Create(filepath.Join(os.Getenv("SUBMISSION_DIR"), "submission.csv"))
	if err != nil {
		return err
	}
	defer f.Close()
	return csv.NewWriter(f).WriteAll(sample)
}

func rows(path string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return csv.NewReader(f).ReadAll()
}

// plantedAgents are the model and the two agents of all pipelines. They differ in what they
// are wrong about.
const plantedAgents = `
model "main" {
  provider = "openai"
  models   = ["m-*"]
  key      = "env:CANARY"
  base_url = "PROVIDER/v1"
  price "m-*" {
    input      = "1000 USD"
    output     = "2000 USD"
    max_output = 100
  }
  budget { cost = "5 USD" }
}
locals { agents = { better = agent.better, worse = agent.worse } }
agent "better" {
  command = ["./agent", "planted"]
  files   = { "agent" = "agent", "digits.csv" = "digits.csv", "cancer.csv" = "cancer.csv" }
  env     = { DOES = "digits/0=0,digits/1=10,digits/2=200,digits/3=invalid,cancer/0=0,cancer/1=90,cancer/2=2,cancer/3=3,digits/4=1,digits/6=linger,digits/9=fork" }
  models  = [model.main]
}
agent "worse" {
  command = ["./agent", "planted"]
  files   = { "agent" = "agent", "digits.csv" = "digits.csv", "cancer.csv" = "cancer.csv" }
  env     = { DOES = "digits/0=150,digits/1=20,digits/2=250,digits/3=crash,cancer/0=90,cancer/1=1,cancer/2=70,cancer/3=idle,digits/4=100,digits/5=0,digits/6=stall,digits/8=hang" }
  models  = [model.main]
}
`

// plantedSteps run and grade attempts, which are named AGENT/COMPETITION/SEED. SOURCE is
// added to the step download, VERSION to all that take a version.
const plantedSteps = `
step "download" "raw" {
  for_each    = toset([for r in values(local.runs) : r.competition])
  competition = each.key
  SOURCE
}
step "prepare" "data" {
  for_each    = step.download.raw
  competition = each.key
  raw         = step.download.raw[each.key].tree
  VERSION
  SALT
}
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = local.agents[each.value.agent]
  competition = each.value.competition
  seed        = each.value.seed
  data        = step.prepare.data[each.value.competition].public
  task        = "own"
  runtime     = "process"
  timeout     = each.value.timeout
  VERSION
  CHECKPOINTS
}
step "grade" "score" {
  for_each    = local.runs
  competition = each.value.competition
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.prepare.data[each.value.competition].private
  labels      = { agent = each.value.agent, seed = each.value.seed }
  VERSION
}
step "aggregate" "board" {
  reports  = values(step.grade.score)[*].report
  attempts = values(step.agent-run.solve)
  COMPARE
}
output "board" { value = step.aggregate.board.table }
`

// attempt is one of a planted pipeline.
type attempt struct {
	agent, competition string
	seed               int
	timeout            string
}

// plantation is a planted cache, and the place in which its pipelines are.
type plantation struct {
	*place
	dir, provider string
	// base and first are the addresses of the pages, once they are served.
	base, first string
	// main is the run with three classes and all ends, again the same applied once more.
	// All others have one thing each.
	main, again, rehearsed, masked, origin, fork, failing, killed string
}

// plantCache makes the cache: two agents in three classes, a rehearsal, a masked version, a fork, a
// repeated run, a provider that fails, and a run that is killed.
func plantCache(t *testing.T) *plantation {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		var program []byte
		if program, err = os.ReadFile(self); err == nil {
			err = os.WriteFile(filepath.Join(dir, "agent"), program, 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	server := &modeltest.Server{Key: "sk-planted", Models: []string{"m-1"}, Answer: func(*modeltest.Ask) modeltest.Answer {
		return modeltest.Answer{Text: "Submit.", Usage: &modeltest.Usage{Input: 10, Output: 5}}
	}, Fault: func(a *modeltest.Ask) modeltest.Fault {
		if strings.Contains(a.Prompt(), "seed "+fmt.Sprint(unprovided)) {
			return modeltest.Fault{Status: http.StatusServiceUnavailable, Text: "try later"}
		}
		return modeltest.Fault{}
	}}
	p := &plantation{place: &place{t: t, cache: filepath.Join(dir, "cache"), env: []string{"CANARY=sk-planted"}}, dir: dir, provider: modeltest.Start(t, server)}
	p.must("prepare", "-c", "demo-digits", "-c", "demo-cancer", "--data-dir", filepath.Join(dir, "data"))
	for _, name := range []string{"digits", "cancer"} {
		answers, err := os.ReadFile(filepath.Join(dir, "data", "demo-"+name, "prepared", "private", "test.csv"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".csv"), answers, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.must("mask", "salt", filepath.Join(dir, "mask.salt"))

	var list []attempt
	for _, agent := range []string{"better", "worse"} {
		for seed := range 4 {
			list = append(list, attempt{agent, "demo-digits", seed, "5m"}, attempt{agent, "demo-cancer", seed, "5m"})
		}
		list = append(list, attempt{agent, "demo-digits", longer, "6m"}, attempt{agent, "demo-digits", shorter, "3s"})
	}
	list = append(list, attempt{"worse", "demo-digits", longer + 1, "6m"})
	p.main = p.apply("main", list, "COMPARE", `compare = ["better", "worse"]`)
	p.again = p.apply("main", list, "COMPARE", `compare = ["better", "worse"]`)
	two := []attempt{{"better", "demo-digits", 0, "5m"}, {"worse", "demo-digits", 0, "5m"}}
	p.rehearsed = p.apply("rehearsed", two, "SOURCE", `data = "rehearsal"`)
	p.masked = p.apply("masked", two, "VERSION", `version = "v1m"`, "SALT", `salt = file("mask.salt")`)
	p.origin = p.apply("origin", []attempt{{"better", "demo-digits", forked, "6m"}}, "CHECKPOINTS", "on_loss = \"resume\"\n  checkpoint_keep = \"1s\"")
	p.must("attempts", "fork", p.origin, `step.agent-run.solve["better/demo-digits/9/6m"]`, "--at", "1s")
	p.fork = p.latest()
	p.failing = p.apply("failing", []attempt{{"worse", "demo-digits", unprovided, "5m"}})
	p.kill()
	return p
}

// must runs the program, which must succeed.
func (p *plantation) must(args ...string) string {
	p.t.Helper()
	out, errs, code := p.run(args...)
	if code != 0 {
		p.t.Fatalf("%v: exit %d\n%s%s", args, code, out, errs)
	}
	return out
}

// write writes a pipeline. Its attempts are named so that none depends on the others.
func (p *plantation) write(name string, list []attempt, words ...string) {
	p.t.Helper()
	text := "locals {\n  runs = {\n"
	for _, a := range list {
		text += fmt.Sprintf("    \"%s/%s/%d/%s\" = { agent = %[1]q, competition = %[2]q, seed = %[3]d, timeout = %[4]q }\n", a.agent, a.competition, a.seed, a.timeout)
	}
	text += "  }\n}\n" + plantedAgents + plantedSteps
	for _, word := range []string{"SOURCE", "VERSION", "SALT", "CHECKPOINTS", "COMPARE"} {
		if !slices.Contains(words, word) {
			words = append(words, word, "")
		}
	}
	text = strings.NewReplacer(append([]string{"PROVIDER", p.provider}, words...)...).Replace(text)
	p.file = filepath.Join(p.dir, name+".hcl")
	if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// apply applies a pipeline and returns its run. The exit status is that of results.
func (p *plantation) apply(name string, list []attempt, words ...string) string {
	p.t.Helper()
	p.write(name, list, words...)
	p.must("apply", p.file)
	return p.latest()
}

// latest is the newest run.
func (p *plantation) latest() string {
	p.t.Helper()
	list, err := history.New(p.cache).List()
	if err != nil || len(list) == 0 {
		p.t.Fatalf("%d runs: %v", len(list), err)
	}
	return slices.MaxFunc(list, func(a, b history.Entry) int { return strings.Compare(a.ID, b.ID) }).ID
}

// kill kills a run in the middle of an attempt.
func (p *plantation) kill() {
	p.t.Helper()
	p.write("killed", []attempt{{"worse", "demo-digits", hangs, "5m"}})
	cmd := p.command("apply", p.file, "--json")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if l := decode(p.t, lines.Bytes()); l.Type == "step_started" && l.Kind == "agent-run" {
			time.AfterFunc(300*time.Millisecond, func() { _ = cmd.Process.Kill() }) // in the middle, at no moment that matters
		}
	}
	if err := cmd.Wait(); err == nil {
		p.t.Fatal("the run ended before it was killed")
	}
	p.killed = p.latest()
}

// collected are the attempts of runs, as their records have them.
func (p *plantation) collected(runs ...string) []*results.Attempt {
	p.t.Helper()
	c, err := disk.Open(p.cache, disk.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	catalog, err := competitions.Shipped()
	if err != nil {
		p.t.Fatal(err)
	}
	var list []*results.Attempt
	for _, id := range runs {
		past, err := history.New(p.cache).Open(id)
		if err != nil {
			p.t.Fatal(err)
		}
		run, err := leaderboardcmd.TidyRun(past, c, catalog)
		if err == nil {
			var own []*results.Attempt
			own, _, err = attempts.Collect(p.t.Context(), run)
			list = append(list, own...)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return list
}
