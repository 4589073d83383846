package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	// outputBytes limits the output of a terminal that is kept, unless the agent sets a
	// lower limit.
	outputBytes = 4 << 20
	// openTerminals is the number of terminals that may be open.
	openTerminals = 256
)

// terminals are the agent's commands.
type terminals struct {
	mu   sync.Mutex
	last int
	open map[string]*terminal
}

// terminal is a command. Its output is kept from the end.
type terminal struct {
	cmd       *exec.Cmd
	limit     int
	mu        sync.Mutex
	kept      []byte
	truncated bool
	ended     chan struct{}
}

// Write implements io.Writer.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		for over < len(t.kept) && !utf8.RuneStart(t.kept[over]) {
			over++
		}
		t.kept, t.truncated = append(t.kept[:0], t.kept[over:]...), true
	}
	return len(p), nil
}

func (ts *terminals) create(params json.RawMessage) (any, error) {
	var asked struct {
		Command, Cwd    string
		Args            []string
		Env             []struct{ Name, Value string }
		OutputByteLimit *int
	}
	if err := decode(params, &asked); err != nil {
		return nil, err
	}
	if len(asked.Args) == 0 && strings.ContainsAny(asked.Command, " \t\n") { // some agents send a line
		asked.Command, asked.Args = "sh", []string{"-c", asked.Command}
	}
	t := &terminal{cmd: exec.Command(asked.Command, asked.Args...), limit: outputBytes, ended: make(chan struct{})}
	if asked.OutputByteLimit != nil {
		t.limit = min(max(*asked.OutputByteLimit, 0), outputBytes)
	}
	t.cmd.Dir, t.cmd.Env, t.cmd.Stdout, t.cmd.Stderr = asked.Cwd, os.Environ(), t, t
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.cmd.WaitDelay = 2 * time.Second // a child in the background may keep the output open
	for _, v := range asked.Env {
		t.cmd.Env = append(t.cmd.Env, v.Name+"="+v.Value)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.open) >= openTerminals {
		return nil, fmt.Errorf("%d terminals are open; release some", openTerminals)
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = t.cmd.Wait() // ProcessState has the result
		close(t.ended)
	}()
	if ts.last++; ts.open == nil {
		ts.open = map[string]*terminal{}
	}
	id := "terminal-" + strconv.Itoa(ts.last)
	ts.open[id] = t
	return object{"terminalId": id}, nil
}

// find finds a terminal by parameters, and forgets it if asked to.
func (ts *terminals) find(params json.RawMessage, forget bool) (*terminal, error) {
	var asked struct{ TerminalID string }
	if err := decode(params, &asked); err != nil {
		return nil, err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.open[asked.TerminalID]
	if t == nil {
		return nil, &callError{Code: codeParams, Message: fmt.Sprintf("there is no terminal %q", asked.TerminalID)}
	}
	if forget {
		delete(ts.open, asked.TerminalID)
	}
	return t, nil
}

// status is the exit status, or nil while the command runs.
func (t *terminal) status() any {
	select {
	case <-t.ended:
	default:
		return nil
	}
	state, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && state.Signaled() {
		return object{"exitCode": nil, "signal": state.Signal().String()}
	}
	return object{"exitCode": t.cmd.ProcessState.ExitCode(), "signal": nil}
}

func (ts *terminals) output(params json.RawMessage) (any, error) {
	t, err := ts.find(params, false)
	if err != nil {
		return nil, err
	}
	status := t.status()
	t.mu.Lock()
	defer t.mu.Unlock()
	result := object{"output": string(t.kept), "truncated": t.truncated}
	if status != nil {
		result["exitStatus"] = status
	}
	return result, nil
}

func (ts *terminals) wait(params json.RawMessage) (any, error) {
	t, err := ts.find(params, false)
	if err != nil {
		return nil, err
	}
	<-t.ended
	return t.status(), nil
}

func (ts *terminals) kill(params json.RawMessage) (any, error) {
	t, err := ts.find(params, false)
	return object{}, cmp.Or(err, t.stop())
}

func (ts *terminals) release(params json.RawMessage) (any, error) {
	t, err := ts.find(params, true)
	return object{}, cmp.Or(err, t.stop())
}

// stop kills the command and its children. It accepts nil.
func (t *terminal) stop() error {
	if t == nil || t.status() != nil {
		return nil
	}
	return syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
}
