// Package dag holds the directed acyclic graphs of the engine: blocks of a
// pipeline, step instances of a plan, tasks of a scheduler.
//
// # Vocabulary
//
// A node is a number from 0 to N-1, given in the order nodes were added. An
// edge goes from what must come first to what comes after it. A Builder
// collects edges; Build refuses a cycle and gives a Graph, which never
// changes again and may be read by several goroutines. Keyed is a graph whose
// nodes have names, for the small graphs people write by hand: it refuses the
// very edge that closes a cycle.
//
// # Order
//
// Nothing depends on the iteration order of a map. The topological order is
// the smallest one: among the nodes that may come next, the lowest number
// comes first. Neighbours are listed in the order their edges were added.
// Every result is therefore a function of the calls that built the graph.
//
// # On dominikbraun/graph
//
// Keyed keeps its nodes and edges in a graph of that library, over a store of
// our own that lists them in insertion order and answers the question "does
// this edge close a cycle" without copying the graph. The library's sorts
// visit every node for every node and its maps cost kilobytes a node, so
// graphs of instances (100,000 nodes, 300,000 edges) live in plain slices;
// the library's algorithms are the oracle of this package's tests. Its DOT
// writer follows map order and escapes nothing, so drawings are written here.
// No other package imports the library.
package dag
