package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command is the hidden sub-command that runs the client.
const Command = "acp"

// Version is part of the key of every run of an agent that speaks ACP. Bump it when the
// client grants, prompts or records something else.
const Version = "1"

// NotStarted is the exit status if the agent's program cannot be started.
const NotStarted = 127

// Main runs the client and returns its exit status.
func Main(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: mleflow acp PROGRAM [ARG…]")
		return 2
	}
	prompt, err := promptFrom(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	err = run(ctx, args, prompt, os.Getenv("LOGS_DIR"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "acp: %v\n", err)
	}
	switch {
	case errors.Is(err, errStart):
		return NotStarted
	case err != nil:
		return 1
	}
	return 0
}

// promptFrom returns the task's texts and the conditions.
func promptFrom(getenv func(string) string) (string, error) {
	var texts []string
	for _, name := range []string{"INSTRUCTIONS_FILE", "DATA_DIR", "MLEFLOW_NOTES", "SUBMISSION_DIR", "LOGS_DIR"} {
		path := getenv(name)
		switch name {
		case "DATA_DIR":
			path = filepath.Join(path, "description.md")
		case "SUBMISSION_DIR", "LOGS_DIR":
			if path != "" {
				continue
			}
		}
		if path == "" {
			return "", fmt.Errorf("%s is not set; the client of ACP is started by an agent-run step", name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the task: %w", err)
		}
		texts = append(texts, string(text))
	}
	texts = append(texts, fmt.Sprintf("Work until %s is your best submission. Nobody answers questions.", filepath.Join(getenv("SUBMISSION_DIR"), "submission.csv")))
	return strings.Join(texts, "\n\n"), nil
}

var errStart = errors.New("start the agent")

// run starts the agent, talks with it and stops it.
func run(ctx context.Context, args []string, prompt, logs string) error {
	kept, err := os.Create(filepath.Join(logs, LogFile))
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer kept.Close()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	c := &client{peer: &peer{}, transcript: &transcript{shown: os.Stdout, kept: kept, left: recordBytes}, excess: make(chan struct{})}
	c.serve, c.notice, c.record = c.handle, c.show, c.keep
	c.stray = func(line []byte) { c.line("[output] %s", line) }
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout = theirs
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		close(exited)
		// A child in the background may keep the output open.
		time.Sleep(time.Second)
		_ = out.Close()
	}()
	c.start(in, out)
	err = c.talk(ctx, dir, prompt)
	gone := errors.Is(err, errClosed) && wait(exited, time.Second)
	_ = in.Close()
	if ctx.Err() != nil || !wait(exited, 3*time.Second) {
		_ = cmd.Process.Kill()
	}
	if gone {
		return fmt.Errorf("%w: %v", err, cmd.ProcessState)
	}
	return err
}

// wait reports whether done is closed within a time.
func wait(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	default:
	}
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}
