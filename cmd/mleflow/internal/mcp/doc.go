// Package mcp serves the commands of mleflow to coding agents by the Model Context
// Protocol. A tool is a row of a table: a command, those of its arguments and flags that a
// client may set, and whether it acts. Descriptions and types are the command's own, and
// a call runs the command line with --json, so that tools and commands cannot differ.
//
// What a command prints may hold text of agents, submissions, logs and strangers' files.
// Results have all of it in one field, untrusted, cut to size and with control characters
// made visible. Every other text of a result is one of this package's constants.
//
// The package does not decide who may act: Options do. It refuses arguments that are read
// as flags, and runs that are not named by an id, which could be paths.
package mcp
