// Package telemetry turns a run into OpenTelemetry spans with the semantic
// conventions for generative AI, and writes them as OTLP JSON or sends them to a
// collector.
//
// The journal of a run is the only source of its steps, live and later, so that
// both give the same spans. Identifiers follow from the run and the address. A
// collector that receives a span twice can tell. Prompts and replies are left out
// unless they are asked for.
package telemetry
