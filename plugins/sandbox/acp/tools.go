package acp

import "os"

// ToolsCommand is the hidden sub-command that serves the validity server's requests as tools
// of the Model Context Protocol, and ToolsName the name of that server.
const (
	ToolsCommand = "acp-tools"
	ToolsName    = "mleflow"
)

// ToolsVersion is part of the key of every attempt that is offered the tools. Bump it when
// they change.
const ToolsVersion = "1"

// The variables of an attempt: the address of the validity server, and the folder of the
// held-out inputs, which is set where there is a validation score.
const (
	Gateway    = "MLEFLOW_GATEWAY"
	Validation = "VALIDATION_DIR"
)

// servers are the MCP servers of a session. Every agent takes those on standard input and
// output. There are none without a validation score, so that other attempts keep their keys.
func servers() []any {
	self, err := os.Executable()
	if os.Getenv(Validation) == "" || os.Getenv(Gateway) == "" || err != nil {
		return []any{}
	}
	env := []object{}
	for _, name := range []string{Gateway, Validation} {
		env = append(env, object{"name": name, "value": os.Getenv(name)})
	}
	return []any{object{"name": ToolsName, "command": self, "args": []string{ToolsCommand}, "env": env}}
}
