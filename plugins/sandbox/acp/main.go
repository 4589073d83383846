package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// Command is the hidden sub-command that runs the client.
const Command = "acp"

// Version is part of the key of every run of an agent that speaks ACP. Bump it when the
// client grants, prompts or records something else.
const Version = "2"

// NotStarted is the exit status if the agent's program cannot be started.
const NotStarted = 127

// Main runs the client and returns its exit status.
func Main(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: mleflow acp PROGRAM [ARG…]")
		return 2
	}
	prompt, err := taskPrompt()
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

// taskPrompt returns the task's texts and the conditions.
func taskPrompt() (string, error) {
	var prompt string
	for _, path := range []string{os.Getenv("INSTRUCTIONS_FILE"), filepath.Join(os.Getenv("DATA_DIR"), "description.md"), os.Getenv("MLEFLOW_NOTES")} {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the task, which an agent-run step gives to the client of ACP: %w", err)
		}
		prompt += string(text) + "\n\n"
	}
	return prompt + fmt.Sprintf("Work until %s is your best submission. Nobody answers questions.", filepath.Join(os.Getenv("SUBMISSION_DIR"), "submission.csv")), nil
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
	cmd := exec.Command(args[0], args[1:]...)
	out, theirs := io.Pipe()
	cmd.Stdout, cmd.Stderr = theirs, os.Stderr
	cmd.WaitDelay = time.Second // a child in the background may keep the output open
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		_ = theirs.Close()
	}()
	c := &client{transcript: &transcript{shown: os.Stdout, kept: kept, left: recordBytes}, cmd: cmd, in: in}
	c.read(out)
	err = c.talk(ctx, dir, prompt)
	_ = in.Close()
	last, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for gone := error(nil); gone == nil; {
		_, gone = c.next(last)
	}
	_ = cmd.Process.Kill()
	return err
}
