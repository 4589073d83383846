// Package checkpoint keeps the state of an unfinished attempt in the cache, so that the
// attempt survives its machine.
//
// # What a checkpoint is
//
// A checkpoint is a record of the index, like that of an action. Its key follows from
// the attempt's action and nothing else, so each checkpoint replaces the one before, and
// any process that runs the same action finds the latest. Its outputs are:
//
//	manifest  a Manifest, JSON: its number, the time used, the resumes so far
//	files     a tree of the agent's folders
//	details   what a tree of the cache cannot hold: links, modes and times
//	gates     a tree of the journals, the agent's output, the budget and the transcript
//	snapshots, code_snapshots  the trees of those outputs so far
//
// All of it is ordinary content. A file that has not changed is neither read nor stored
// again, and a remote cache receives only content that it lacks. The record keeps its
// content from being collected. Everything is on the disk before the record replaces the
// one before, and the record is on the disk when Save returns, so a power failure leaves
// one of the two. Like all records, that of a checkpoint is evicted when the cache has
// too little space, least recently used first.
//
// When the attempt has its result, End replaces the record by one with the attempt's
// outputs, and the next collection removes the rest. A process that dies before the
// engine has recorded the result leaves it there.
//
// Cache.Latest finds the latest checkpoint on other machines: the one with the highest
// number counts, whatever the clocks say.
//
// # When it is consistent
//
// Files are first read while the agent runs, until few bytes are left. The agent is then
// frozen, the files that changed meanwhile are read, and it goes on. The manifest says
// for how long it was frozen. A runtime that cannot freeze gives files that are each
// whole, as far as their times tell, but not of one moment; the manifest says so. A
// checkpoint that follows a cancellation is taken when the agent has ended.
//
// # What it refuses
//
// Links are recorded and never followed. Pipes, sockets and devices, and files beyond
// the limits, are left out and listed. Secrets are masked as in outputs, so no
// checkpoint has one, and an agent that wrote a secret to a file finds the mask there.
// The virtual keys of models are not kept; a resumed agent gets new ones. The data and
// the answers are no part of it.
package checkpoint
