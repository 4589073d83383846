package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// version is the version of the protocol.
const version = 1

const (
	// handshake limits each request before the prompt.
	handshake = 5 * time.Minute
	// farewell is the time that the agent has to end a cancelled turn. It is less than
	// the time between a runtime's SIGTERM and its kill.
	farewell = 700 * time.Millisecond
	// permissions limits the requests for permission, so that an agent that repeats one
	// forever ends.
	permissions = 10_000
)

// object is a JSON object that the client sends.
type object = map[string]any

// client is the client's side of a session.
type client struct {
	*peer
	*transcript
	terminals terminals
	asked     atomic.Int64
	// excess is closed when the agent asked for too many permissions.
	excess chan struct{}
}

// authMethod is a way to authenticate. Vars are the variables that it reads.
type authMethod struct {
	ID, Name, Description, Type string
	Vars                        []struct {
		Name     string
		Optional bool
	}
}

func (c *client) initialize(ctx context.Context) ([]authMethod, error) {
	var hello struct {
		ProtocolVersion int
		AuthMethods     []authMethod
	}
	err := c.call(ctx, "initialize", object{
		"protocolVersion":    version,
		"clientCapabilities": object{"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true},
		"clientInfo":         object{"name": "mleflow", "version": Version},
	}, &hello)
	if err == nil && hello.ProtocolVersion != version {
		err = fmt.Errorf("the agent speaks version %d of ACP, and mleflow speaks version %d: choose another release of the agent", hello.ProtocolVersion, version)
	}
	return hello.AuthMethods, err
}

// open opens a session. If the agent wants authentication, it tries the methods that
// need no person.
func (c *client) open(ctx context.Context, dir string, methods []authMethod) (id string, err error) {
	create := func() error {
		var session struct{ SessionID string }
		err := c.call(ctx, "session/new", object{"cwd": dir, "mcpServers": []any{}}, &session)
		id = session.SessionID
		return err
	}
	err = create()
	if !wantsAuth(err) {
		return id, err
	}
	for _, m := range methods {
		if !m.ready() {
			continue
		}
		if bad := c.call(ctx, "authenticate", object{"methodId": m.ID}, &struct{}{}); bad != nil {
			err = bad
		} else if err = create(); !wantsAuth(err) {
			return id, err
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
	from := c.ask("session/prompt", object{"sessionId": session, "prompt": []object{{"type": "text", "text": prompt}}})
	turn, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-c.excess:
			stop(fmt.Errorf("the agent asked for permission more than %d times", permissions))
		case <-turn.Done():
		}
	}()
	var end struct{ StopReason string }
	err = c.wait(turn, "session/prompt", from, &end)
	switch {
	case turn.Err() != nil:
		go c.notify("session/cancel", object{"sessionId": session})
		last, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_ = c.wait(last, "session/prompt", from, &end)
		return fmt.Errorf("the turn was cancelled: %w", context.Cause(turn))
	case err == nil && end.StopReason != "end_turn":
		return fmt.Errorf("the agent stopped before the end of its turn: %q", end.StopReason)
	}
	return err
}

// permit grants permission.
func (c *client) permit(params json.RawMessage) (any, error) {
	if c.asked.Add(1) == permissions+1 {
		close(c.excess)
	}
	var asked struct {
		Options []struct{ OptionID, Kind string }
	}
	if err := decode(params, &asked); err != nil {
		return nil, err
	}
	for _, kind := range []string{"allow_always", "allow_once"} {
		if i := slices.IndexFunc(asked.Options, func(o struct{ OptionID, Kind string }) bool { return o.Kind == kind }); i >= 0 {
			return object{"outcome": object{"outcome": "selected", "optionId": asked.Options[i].OptionID}}, nil
		}
	}
	return object{"outcome": object{"outcome": "cancelled"}}, nil
}

// handle serves a request of the agent.
func (c *client) handle(method string, params json.RawMessage) (any, error) {
	serve, ok := map[string]func(json.RawMessage) (any, error){
		"session/request_permission": c.permit,
		"fs/read_text_file":          readFile,
		"fs/write_text_file":         writeFile,
		"terminal/create":            c.terminals.create,
		"terminal/output":            c.terminals.output,
		"terminal/wait_for_exit":     c.terminals.wait,
		"terminal/kill":              c.terminals.kill,
		"terminal/release":           c.terminals.release,
	}[method]
	if !ok {
		return nil, &callError{Code: codeNoMethod, Message: fmt.Sprintf("mleflow does not serve %q", method)}
	}
	return serve(params)
}

func decode(params json.RawMessage, into any) error {
	if err := json.Unmarshal(params, into); err != nil {
		return &callError{Code: codeParams, Message: err.Error()}
	}
	return nil
}
