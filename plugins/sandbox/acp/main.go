package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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

// version is the version of the protocol.
const version = 1

const (
	// handshake limits the time before the prompt.
	handshake = 5 * time.Minute
	// farewell is the time that the agent has to end a cancelled turn. It is less than
	// the time between a runtime's SIGTERM and its kill.
	farewell = 700 * time.Millisecond
	// permissions limits the requests for permission, so that an agent that repeats one
	// forever ends.
	permissions = 10_000
)

// client is the client's side of a session.
type client struct {
	*transcript
	cmd *exec.Cmd
	in  io.Writer
	// lines are those of the agent. It is closed at their end, after end is set.
	lines <-chan []byte
	end   error
	// framed means that the agent sends headers, and gets them.
	framed atomic.Bool
	// spoke means that there was a message; strays counts the other lines, and stray is
	// the first.
	spoke  bool
	strays int
	stray  string
	// last is the number of the last request, and asked that of requests for permission.
	last, asked int
}

func (c *client) initialize(ctx context.Context) ([]authMethod, error) {
	var hello struct {
		ProtocolVersion int
		AuthMethods     []authMethod
	}
	err := c.call(ctx, "initialize", object{
		"protocolVersion":    version,
		"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false},
		"clientInfo":         object{"name": "mleflow", "version": Version},
	}, &hello)
	if err == nil && hello.ProtocolVersion != version {
		err = fmt.Errorf("the agent speaks version %d of ACP, and mleflow speaks version %d: choose another release of the agent", hello.ProtocolVersion, version)
	}
	return hello.AuthMethods, err
}

// talk has the session's turn.
func (c *client) talk(ctx context.Context, dir, prompt string) error {
	early, cancel := context.WithTimeoutCause(ctx, handshake, fmt.Errorf("it took longer than %v", handshake))
	defer cancel()
	methods, err := c.initialize(early)
	if err != nil {
		return err
	}
	session, err := c.open(early, dir, methods)
	if err != nil {
		return err
	}
	var turn struct{ StopReason string }
	err = c.call(ctx, "session/prompt", object{"sessionId": session, "prompt": []object{{"type": "text", "text": prompt}}}, &turn)
	switch {
	case ctx.Err() != nil:
		c.send(object{"method": "session/cancel", "params": object{"sessionId": session}})
		last, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_ = c.response(last, "session/prompt", &turn)
		return fmt.Errorf("the turn was cancelled: %w", context.Cause(ctx))
	case err == nil && turn.StopReason != "end_turn":
		return fmt.Errorf("the agent stopped before the end of its turn: %q", turn.StopReason)
	}
	return err
}

// take prints a notification and answers a request. Only permission is served.
func (c *client) take(m message) error {
	switch {
	case len(m.ID) == 0 || string(m.ID) == "null":
		c.show(m.Method, m.Params)
	case m.Method != "session/request_permission":
		c.send(object{"id": m.ID, "error": object{"code": codeNoMethod, "message": fmt.Sprintf("mleflow does not serve %q", m.Method)}})
	default:
		if c.asked++; c.asked > permissions {
			return fmt.Errorf("the agent asked for permission more than %d times", permissions)
		}
		c.send(object{"id": m.ID, "result": object{"outcome": permit(m.Params)}})
	}
	return nil
}

// permit grants permission, if the agent has an option for that.
func permit(params json.RawMessage) object {
	type option struct{ OptionID, Kind string }
	var asked struct{ Options []option }
	_ = json.Unmarshal(params, &asked) // without options, nothing is granted
	for _, kind := range []string{"allow_always", "allow_once"} {
		if i := slices.IndexFunc(asked.Options, func(o option) bool { return o.Kind == kind }); i >= 0 {
			return object{"outcome": "selected", "optionId": asked.Options[i].OptionID}
		}
	}
	return object{"outcome": "cancelled"}
}

// authMethod is a way to authenticate. Vars are the variables that it reads.
type authMethod struct {
	ID, Name, Description, Type string
	Vars                        []struct {
		Name     string
		Optional bool
	}
}

// open opens a session. If the agent wants authentication, it tries the methods that
// need no person.
func (c *client) open(ctx context.Context, dir string, methods []authMethod) (string, error) {
	var session struct{ SessionID string }
	params := object{"cwd": dir, "mcpServers": servers()}
	err := c.call(ctx, "session/new", params, &session)
	if !wantsAuth(err) {
		return session.SessionID, err
	}
	for _, m := range methods {
		if !m.ready() {
			continue
		}
		if err = c.call(ctx, "authenticate", object{"methodId": m.ID}, &struct{}{}); err != nil {
			continue
		}
		if err = c.call(ctx, "session/new", params, &session); !wantsAuth(err) {
			return session.SessionID, err
		}
	}
	return "", fmt.Errorf("%w. The agent needs authentication: %s. Set variables by models, env or secrets of the agent block", err, describe(methods))
}

func wantsAuth(err error) bool {
	var refused *callError
	return errors.As(err, &refused) && refused.Code == codeAuth
}

// ready reports whether a method needs no person: its variables are set, or it is about
// a key.
func (m *authMethod) ready() bool {
	for _, v := range m.Vars {
		if !v.Optional && os.Getenv(v.Name) == "" {
			return false
		}
	}
	name := strings.ToLower(m.ID + " " + m.Name)
	return len(m.Vars) > 0 || strings.Contains(name, "key") || strings.Contains(name, "openai")
}

// describe lists methods with the variables that they read.
func describe(methods []authMethod) string {
	var list []string
	for _, m := range methods {
		text := fmt.Sprintf("%q", cmp.Or(m.Name, m.ID))
		for _, v := range m.Vars {
			text += " " + v.Name
		}
		if m.Description != "" {
			text += " (" + m.Description + ")"
		}
		list = append(list, text)
	}
	return cmp.Or(strings.Join(list, ", "), "it names no method")
}

// LogFile is the record of messages, in LOGS_DIR: JSON lines with time, from ("agent" or
// "client") and message. Beyond recordBytes, nothing is added but a line that says so.
const (
	LogFile     = "acp.jsonl"
	recordBytes = 64 << 20
)

// transcript records messages and prints updates for people.
type transcript struct {
	shown  io.Writer
	kept   io.Writer
	left   int
	inText string
}

// keep records a message.
func (t *transcript) keep(from string, line []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"time":%q,"from":%q,"message":`, time.Now().UTC().Format(time.RFC3339Nano), from)
	b.Write(bytes.TrimSuffix(line, []byte("\n")))
	b.WriteString("}\n")
	if t.left < 0 {
		return
	}
	if t.left -= b.Len(); t.left < 0 {
		b.Reset()
		b.WriteString(`{"truncated":true}` + "\n")
	}
	_, _ = t.kept.Write(b.Bytes()) // a full disk is the agent's own
}

// update is a notification session/update.
type update struct {
	Update struct {
		SessionUpdate, Title, Status, ToolCallID string
		Content                                  json.RawMessage
		Entries                                  []struct{ Content, Status string }
	}
}

// show prints an update.
func (t *transcript) show(method string, params json.RawMessage) {
	var u update
	if method != "session/update" || json.Unmarshal(params, &u) != nil {
		return
	}
	var content struct{ Text string }
	switch kind := u.Update.SessionUpdate; kind {
	case "agent_message_chunk", "agent_thought_chunk":
		_ = json.Unmarshal(u.Update.Content, &content) // an image has no text
		if t.inText != kind {
			t.line("%s", map[string]string{"agent_message_chunk": "[message]", "agent_thought_chunk": "[thought]"}[kind])
		}
		t.inText = kind
		fmt.Fprint(t.shown, content.Text)
	case "tool_call":
		t.line("[tool] %s", u.Update.Title)
	case "tool_call_update":
		if u.Update.Status != "" {
			t.line("[tool] %s: %s", u.Update.ToolCallID, u.Update.Status)
		}
	case "plan":
		for _, e := range u.Update.Entries {
			t.line("[plan] %s: %s", e.Status, e.Content)
		}
	}
}

// line prints a line of its own.
func (t *transcript) line(format string, args ...any) {
	if t.inText != "" {
		fmt.Fprintln(t.shown)
	}
	t.inText = ""
	fmt.Fprintf(t.shown, format+"\n", args...)
}
