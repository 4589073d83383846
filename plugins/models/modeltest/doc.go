// Package modeltest is a stand-in for the servers of language models: it speaks
// the dialects of OpenAI, Anthropic and Gemini, answers as a test tells it to,
// and fails on demand in twenty and more ways.
//
// A Server is an http.Handler; Start serves it for a test. Its Answer is the
// model: it sees what was asked in one form for all dialects and returns text,
// thoughts and calls of tools, which the server writes as the dialect wants them,
// in one piece or as a stream. Its Fault says what goes wrong with a request;
// Faults lists one of each kind. Digits is an Answer that solves the competition
// demo-digits for agents that have a shell.
//
// The forms are those of the providers' documentation and client libraries. They
// are written here without package dialect, so that a mistake there is not
// repeated here.
//
// To try a program by hand, serve on an address until interrupted:
//
//	MODELTEST=127.0.0.1:9000 go test -run TestServe -timeout 0 ./plugins/models/modeltest
package modeltest
