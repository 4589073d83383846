// Package dag holds the directed acyclic graphs of the engine: blocks of a
// pipeline, step instances of a plan, tasks of a scheduler.
//
// # Vocabulary
//
// A node is a number from 0 to N-1. An edge leads from a node to one that must come
// after it, which has a higher number: what is read from a file is in order before it is
// a graph. A Graph never changes and is safe for concurrent use. Keyed is a graph with
// named nodes.
//
// # Order
//
// Nothing depends on the iteration order of a map. Every result depends only on the
// calls that built the graph.
//
// # On dominikbraun/graph
//
// Keyed keeps a graph of that library. The library's sorts visit every
// node for every node, and its maps use kilobytes per node. Graphs of instances
// (100,000 nodes, 300,000 edges) are therefore kept in plain slices; the
// library's algorithms are the oracle of this package's tests. Its DOT writer
// follows map order and escapes nothing, so this package writes drawings
// itself. No other package imports the library.
package dag
