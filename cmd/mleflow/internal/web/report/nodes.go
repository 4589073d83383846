package report

import (
	"html/template"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/ledger"
)

// Node is the run's use of a cluster's node.
type Node struct {
	ledger.NodeUse
	// Jobs are the steps that ran there, each with the time of one worker.
	Jobs []Step
}

// Busy is the total time in which its GPUs were used.
func (n Node) Busy() time.Duration { return n.GPUTime }

// Idle is the time between the first and the last step in which its GPUs were not used.
func (n Node) Idle() time.Duration { return n.IdleGPUTime }

// nodesOf returns a run's use of a cluster's nodes.
func nodesOf(sum *ledger.Summary) (list []Node) {
	for _, u := range sum.Nodes() {
		n := Node{NodeUse: u}
		for i := range sum.Steps {
			s := &sum.Steps[i]
			for _, span := range s.Spans {
				if span.On != u.On || span.Node != u.Node {
					continue
				}
				end := span.End
				if end.IsZero() {
					end = sum.Last
				}
				n.Jobs = append(n.Jobs, Step{Address: s.Address, Kind: s.Kind, Status: s.Status, Started: span.Start, Duration: end.Sub(span.Start)})
			}
		}
		list = append(list, n)
	}
	return list
}

// nodeRow is a node and its timeline.
type nodeRow struct {
	Node
	Plot template.HTML
}

func nodeRows(d Data, kinds []string) (rows []nodeRow) {
	for _, n := range d.Nodes {
		rows = append(rows, nodeRow{n, page.Timeline(d.Run.Started, barsOf(n.Jobs), kinds)})
	}
	return rows
}
