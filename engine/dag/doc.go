// Package dag holds the directed acyclic graphs of the engine: blocks of a
// pipeline, step instances of a plan, tasks of a scheduler.
//
// # Vocabulary
//
// A node is a number from 0 to N-1, in the order in which nodes were added. An
// edge leads from a node to one that must come after it. A builder collects
// edges. Build refuses a cycle and returns a Graph, which never changes and is
// safe for concurrent use. Keyed is a graph with named nodes, for the small
// graphs that people write by hand. It refuses the very edge that closes a
// cycle.
//
// # Order
//
// Nothing depends on the iteration order of a map. The topological order is the
// smallest one: of the nodes that may come next, the lowest number comes first.
// Neighbours are listed in the order in which their edges were added. Every
// result therefore depends only on the calls that built the graph.
//
// # On dominikbraun/graph
//
// Keyed lets a graph of that library find the edge that closes a cycle, and
// lists the edges in insertion order itself. The library's sorts visit every
// node for every node, and its maps use kilobytes per node. Graphs of instances
// (100,000 nodes, 300,000 edges) are therefore kept in plain slices; the
// library's algorithms are the oracle of this package's tests. Its DOT writer
// follows map order and escapes nothing, so this package writes drawings
// itself. No other package imports the library.
package dag
