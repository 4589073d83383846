// Package modeltest is a stand-in for the servers of language models. It speaks
// the dialects of OpenAI, Anthropic and Gemini, answers as a test demands, and
// can fail in more than twenty ways.
//
// A Server is an http.Handler; Start serves it for a test. Its Answer plays the
// model: it receives the request in a form common to all dialects and returns
// text, thoughts and tool calls. The server writes them in the dialect, in one
// piece or as a stream. Its Fault chooses the failure of a request; Faults
// lists one of each kind. Digits is an Answer that solves the competition
// demo-digits for agents with a shell.
//
// The wire formats follow the providers' documentation and client libraries.
// They do not use package dialect, so that a mistake there is not repeated
// here.
//
// To try a program by hand, serve on an address until interrupted:
//
//	MODELTEST=127.0.0.1:9000 go test -run TestServe -timeout 0 ./plugins/models/modeltest
package modeltest
