package kubernetes

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Nodes lists the nodes that the selector, the exclusions and the tolerations allow. Free is
// not known: it would take the pods of all namespaces.
func (b *Backend) Nodes(ctx context.Context) (all []cluster.Node, err error) {
	nodes, err := b.listed(ctx, 0)
	if err != nil {
		return nil, denied("list nodes", err)
	}
	if b.Autoscaling {
		all = append(all, cluster.Node{Name: "autoscaling", Has: cluster.Needs{GPUs: math.MaxInt32}, Why: "adds nodes on demand"})
	}
	for i := range nodes {
		if n := &nodes[i]; b.fits(n, b.shape) {
			why := closed(n)
			all = append(all, cluster.Node{Name: n.Name, Has: b.needs(n.Status.Allocatable), Ready: why == "", Why: why})
		}
	}
	return all, nil
}

// needs parses Kubernetes' quantities.
func (b *Backend) needs(r map[string]string) cluster.Needs {
	return cluster.Needs{
		CPUs: amount(r["cpu"]), MemoryBytes: int64(amount(r["memory"])), DiskBytes: int64(amount(r["ephemeral-storage"])), GPUs: int(amount(r[b.GPUResource])),
	}
}

// amount is a quantity as a number; 0 if it is missing.
func amount(text string) float64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.AsApproximateFloat64()
}

// closed says why a node takes no jobs; "" if it does. The kubelet reports pressure when
// the disk with the pods' folders, and often the cache, is nearly full.
func closed(n *node) string {
	if n.Spec.Unschedulable {
		return "cordoned"
	}
	why := "NotReady"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type == "Ready" && c.Status == "True" && why == "NotReady":
			why = ""
		case strings.HasSuffix(c.Type, "Pressure") && c.Status == "True":
			why = c.Type
		}
	}
	return why
}

// listed returns all nodes as they were at most age ago.
func (b *Backend) listed(ctx context.Context, age time.Duration) ([]node, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.knownAt) < age {
		return b.known, b.knownErr
	}
	nodes, err := b.nodes(ctx)
	if b.knownErr, b.knownAt = err, time.Now(); err == nil {
		b.known = nodes
	}
	return b.known, err
}

// unfit says why no node could ever run a pod, however empty it is; "" if one could, or if that
// is not known.
func (b *Backend) unfit(ctx context.Context, p podSpec) (why string) {
	if b.Autoscaling {
		return ""
	}
	for _, age := range []time.Duration{time.Minute, slowStart / 4} { // a new list only against the pod
		nodes, err := b.listed(ctx, age)
		if err != nil {
			return ""
		}
		allowed := lists.Where(nodes, func(n node) bool { return b.fits(&n, p) })
		asked := p.Containers[0].Resources.Requests
		switch {
		case slices.ContainsFunc(allowed, func(n node) bool { return b.needs(n.Status.Allocatable).Hold(b.needs(asked)) }):
			return ""
		case len(allowed) == 0:
			why = fmt.Sprintf("node_selector, exclude and toleration allow none of the %d nodes; "+
				"compare kubectl get nodes --show-labels", len(nodes))
		default:
			why = fmt.Sprintf("none of the %d nodes that it may use has all that it asks for (%s); ask for less in the step, "+
				"or compare gpu_resource with kubectl describe nodes", len(allowed), labels.Set(asked))
		}
	}
	return why + "; if nodes are added on demand, write autoscaling = true"
}

// fits reports whether a pod's selector and tolerations and the exclusions allow the node.
// Taints that come and go with its health do not count, nor those that preemptible jobs
// tolerate.
func (b *Backend) fits(n *node, p podSpec) bool {
	if slices.Contains(b.Exclude, n.Name) {
		return false
	}
	for k, v := range p.NodeSelector {
		if have, ok := n.Labels[k]; !ok || have != v {
			return false
		}
	}
	return !slices.ContainsFunc(n.Spec.Taints, func(t taint) bool {
		return t.Effect != "PreferNoSchedule" && !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !slices.Contains(spotTaints, t.Key) && !p.tolerates(t)
	})
}

func (p *podSpec) tolerates(t taint) bool {
	for _, o := range p.Tolerations {
		key := o.Key == t.Key || o.Key == "" && o.Operator == "Exists"
		value := o.Operator != "" && o.Operator != "Equal" || o.Value == t.Value
		effect := o.Effect == "" || o.Effect == t.Effect
		if key && value && effect {
			return true
		}
	}
	return false
}
