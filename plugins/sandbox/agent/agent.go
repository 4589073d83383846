package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/named"
)

// Command is the hidden sub-command that runs a built-in agent.
const Command = "agent"

// SubmissionFile is the file that is graded, in SUBMISSION_DIR.
const SubmissionFile = "submission.csv"

// Agent is a built-in agent.
type Agent struct {
	Name string
	// Version is part of the key of every run of the agent. Bump it when the same data
	// and seed give a different submission.
	Version string
	Doc     string
	Solve   func(Task) error
}

// Task is the input of an agent.
type Task struct {
	DataDir, SubmissionDir, CodeDir, LogsDir string
	Seed                                     uint64
	// Sample is the sample submission below DataDir, or "" if the competition has no
	// public one.
	Sample string
	// ValidationDir and Gateway are the held-out inputs and the address of /score, where the
	// agent can ask for scores.
	ValidationDir, Gateway string
	// Log receives the agent's log.
	Log io.Writer
}

// Names lists the built-in agents, sorted.
func Names() []string { return all().Names() }

// Find returns the agent with the given name.
func Find(name string) (Agent, error) { return all().Get(name) }

// Main runs the agent named by args as a program and returns its exit status: 0 if it
// submitted, 1 if it failed, 2 if it was started incorrectly.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintf(os.Stderr, "usage: mleflow agent %s\n", strings.Join(Names(), "|"))
		return 2
	}
	a, err := Find(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	task, err := taskFrom(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := run(a, task); err != nil {
		fmt.Fprintf(os.Stderr, "agent %s: %v\n", a.Name, err)
		return 1
	}
	return 0
}

// run solves the task and logs to standard output and LOGS_DIR.
func run(a Agent, task Task) error {
	log, err := os.Create(filepath.Join(task.LogsDir, a.Name+".log"))
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	task.Log = io.MultiWriter(os.Stdout, log)
	fmt.Fprintf(task.Log, "agent %s version %s, seed %d\n", a.Name, a.Version, task.Seed)
	return a.Solve(task)
}

func taskFrom(getenv func(string) string) (Task, error) {
	t := Task{DataDir: getenv("DATA_DIR"), SubmissionDir: getenv("SUBMISSION_DIR"), CodeDir: getenv("CODE_DIR"), LogsDir: getenv("LOGS_DIR"), ValidationDir: getenv("VALIDATION_DIR"), Gateway: getenv("MLEFLOW_GATEWAY")}
	for _, name := range []string{"DATA_DIR", "SUBMISSION_DIR", "CODE_DIR", "LOGS_DIR"} {
		if getenv(name) == "" {
			return t, fmt.Errorf("%s is not set; built-in agents are started by an agent-run step", name)
		}
	}
	if sample := getenv("MLEFLOW_SAMPLE"); sample != "" {
		var err error
		if t.Sample, err = filepath.Rel(t.DataDir, sample); err != nil {
			return t, fmt.Errorf("MLEFLOW_SAMPLE is %q: %w", sample, err)
		}
	}
	seed := getenv("MLEFLOW_SEED")
	if seed == "" {
		return t, nil
	}
	n, err := strconv.ParseInt(seed, 10, 64)
	if err != nil {
		return t, fmt.Errorf("MLEFLOW_SEED is %q; it must be an integer", seed)
	}
	t.Seed = uint64(n)
	return t, nil
}

// all are the built-in agents.
func all() *named.Set[Agent] {
	return named.New("built-in agent", func(a Agent) string { return a.Name }, baseline, sample)
}
