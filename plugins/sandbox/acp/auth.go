package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

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
	params := object{"cwd": dir, "mcpServers": []any{}}
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
