package report

import (
	"html/template"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/history"
)

// Node is the run's use of a cluster's node.
type Node struct {
	history.NodeUse
	// Jobs are the steps that ran there, each with the time of one worker; Plot draws them.
	Jobs []page.Bar
	Plot template.HTML
}

// nodesOf returns a run's use of a cluster's nodes.
func nodesOf(sum *history.Summary) (list []Node) {
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
				n.Jobs = append(n.Jobs, page.Bar{Address: s.Address, Kind: s.Kind, Status: s.Status, Started: span.Start, Duration: end.Sub(span.Start)})
			}
		}
		list = append(list, n)
	}
	return list
}
