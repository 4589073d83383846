package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"
)

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
