// Package acp is a client of the Agent Client Protocol, version 1
// (agentclientprotocol.com): JSON-RPC 2.0, a message a line, on the standard input and
// output of an agent.
//
// The client is the hidden command "mleflow acp PROGRAM [ARG…]". It runs in the agent's
// sandbox, as the agent's user, and starts the program as its child. The sandbox
// therefore limits the permissions that it grants, and the runtime stops both. The
// client offers neither files nor terminals, which are for editors: the agent uses its
// own tools. It knows only the agent's environment:
//
//   - INSTRUCTIONS_FILE, MLEFLOW_NOTES: the prompt;
//   - MLEFLOW_GATEWAY, VALIDATION_DIR: with both, the agent is offered an MCP server with
//     the tools score and validate, which the agent starts as "mleflow acp-tools";
//   - LOGS_DIR: messages are recorded in acp.jsonl;
//   - SIGTERM: the turn is cancelled.
//
// One session has one turn. The exit status is 0 if the agent ended the turn, 1 if the
// agent failed, 2 if the client was started incorrectly and 127 if the program cannot
// be started.
//
// The reader is tolerant, since agents are newer than this client: unknown fields and
// updates are recorded and skipped, and unknown requests are declined.
package acp
