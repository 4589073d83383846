package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache/nolink"
)

// Check is one finding of Backend.Examine.
type Check struct {
	// Name names the check in a word or two.
	Name string
	// OK reports whether it works; otherwise Fix says what to do.
	OK bool
	// Optional reports whether jobs run without it.
	Optional bool
	// Detail describes the finding.
	Detail, Fix string
}

// maxNamed is the number of nodes without jobs that ExamineNodes names.
const maxNamed = 5

// ExamineNodes lists the nodes of a backend; fix is the advice if none takes jobs.
func ExamineNodes(ctx context.Context, b Backend, fix string) Check {
	nodes, err := b.Nodes(ctx)
	if err != nil {
		return Check{Name: "nodes", Optional: true, Detail: err.Error(), Fix: "without the list, plan cannot say what fits no node, and jobs do not prefer nodes whose cache is warm"}
	}
	ready, gpus := 0, 0
	var others []string
	for _, n := range nodes {
		if n.Ready {
			ready++
			gpus += n.Has.GPUs
		} else {
			others = append(others, fmt.Sprintf("%s (%s)", n.Name, n.Why))
		}
	}
	c := Check{Name: "nodes", OK: ready > 0, Detail: fmt.Sprintf("%d may be used, %d of them take jobs now, with %d GPUs", len(nodes), ready, gpus), Fix: fix}
	if len(others) > maxNamed {
		others = append(others[:maxNamed], fmt.Sprintf("%d more", len(others)-maxNamed))
	}
	if len(others) > 0 {
		c.Detail += "; not " + strings.Join(others, ", ")
	}
	return c
}

// Own returns an error if other users may write to a file or folder whose content jobs
// run. A path that does not exist is fine: what needs it says so.
func Own(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if why := nolink.Writers(info); why != "" {
		return fmt.Errorf("%s %s, and jobs run what is in it: make it yours and chmod go-w %s, or name another of your own", path, why, path)
	}
	return nil
}
