// Package all lists the backends.
package all

import (
	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/kubernetes"
	"github.com/mleflow/mleflow/plugins/cluster/local"
	"github.com/mleflow/mleflow/plugins/cluster/slurm"
)

// Kind is a kind of backend, named by the first label of a backend block.
type Kind struct {
	Name string
	// Open creates a backend from a block, which decode reads into a struct with tags
	// such as `hcl:"image"`. The site decides on some of the cluster.Limits. It sends no
	// request.
	Open func(decode func(any) error, site []string) (cluster.Backend, error)
}

// Kinds returns the kinds of backends, sorted by name.
func Kinds() []Kind {
	return []Kind{
		kind("kubernetes", func(c kubernetes.Config, _ []string) (cluster.Backend, error) { return kubernetes.New(c) }),
		kind("local", func(c local.Config, _ []string) (cluster.Backend, error) { return local.New(c) }),
		kind("slurm", func(c slurm.Config, site []string) (cluster.Backend, error) { return slurm.New(c, site...) }),
	}
}

// kind adapts a constructor to Kind.
func kind[C any](name string, open func(C, []string) (cluster.Backend, error)) Kind {
	return Kind{Name: name, Open: func(decode func(any) error, site []string) (cluster.Backend, error) {
		var c C
		if err := decode(&c); err != nil {
			return nil, err
		}
		return open(c, site)
	}}
}
