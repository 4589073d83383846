// Package message extracts the messages from request and response bodies of the
// three dialects: texts, reasoning, tool calls and their results. It serves
// people and exports. No decision of the gateway depends on it.
//
// It accepts damaged, truncated and hostile bodies and never fails. It omits
// content that it does not understand, or names it by its type.
package message
