// Package ui serves a local page over the runs of a cache: what runs now, what
// ran, every attempt's story, agents and competitions compared.
//
// It only reads: the run history, the cache and the remote cache behind it. Another
// process may apply pipelines meanwhile; the page follows its journal.
//
// # What it lets in
//
// The server answers GET and HEAD on a loopback address, to requests that name
// a loopback host (so that a name that is made to resolve here gets nothing),
// come from its own pages or from none, and carry the session's cookie. The
// cookie is given for the token that is in the address that mleflow ui prints,
// and the address without the token follows at once. Everything else is
// answered by a status and one line.
//
// Pages may load the program's own style sheet and script and nothing else; no
// script is inline. All text goes through the templates' escaping. Answers of
// competitions are never read.
//
// # How a page is made
//
// A page is a list of sections. A browser that asks for the same address as
// text/event-stream gets the sections that change, for as long as they do: the
// script puts them in place. Without the script pages show what was when they
// were loaded.
//
// # The report of a run
//
// RunReport writes the page of a run to a file: the same model, first screen, drawings and
// parts of pages, with what the other pages of the run have below each other. It has no links
// to pages and no script.
package ui
