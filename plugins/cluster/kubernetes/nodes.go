package kubernetes

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// Nodes lists the nodes that the selector, the exclusions and the tolerations allow. Free counts
// the pods of all namespaces if they may be listed, else those of ours.
func (b *Backend) Nodes(ctx context.Context) ([]cluster.Node, error) {
	nodes, err := b.client.nodes(ctx)
	if err != nil {
		return nil, denied("list nodes", err)
	}
	pods, err := b.pods(ctx, "")
	if err != nil {
		if pods, err = b.pods(ctx, b.Namespace); err != nil {
			return nil, denied("list pods", err)
		}
	}
	used := map[string]cluster.Needs{}
	for _, p := range pods {
		used[p.Spec.NodeName] = plus(used[p.Spec.NodeName], b.reserved(p.Spec), 1)
	}
	var list []cluster.Node
	for i := range nodes {
		if n := &nodes[i]; b.fits(n) {
			has := b.needs(n.Status.Allocatable)
			why := closed(n)
			list = append(list, cluster.Node{Name: n.Name, Has: has, Free: plus(has, used[n.Name], -1), Ready: why == "", Why: why})
		}
	}
	return list, nil
}

// reserved returns the resources that a pod reserves: the sum of its containers or the
// most that one init container needs, whichever is larger.
func (b *Backend) reserved(p podSpec) (n cluster.Needs) {
	for _, c := range p.Containers {
		n = plus(n, b.needs(c.Resources.Requests), 1)
	}
	for _, c := range p.InitContainers {
		first := b.needs(c.Resources.Requests)
		n.CPUs, n.MemoryBytes = max(n.CPUs, first.CPUs), max(n.MemoryBytes, first.MemoryBytes)
		n.DiskBytes, n.GPUs = max(n.DiskBytes, first.DiskBytes), max(n.GPUs, first.GPUs)
	}
	return n
}

// needs parses Kubernetes' quantities.
func (b *Backend) needs(r map[string]string) cluster.Needs {
	value := func(name string) float64 {
		q, err := resource.ParseQuantity(r[name])
		if err != nil {
			return 0
		}
		return q.AsApproximateFloat64()
	}
	return cluster.Needs{
		CPUs: value("cpu"), MemoryBytes: int64(value("memory")), DiskBytes: int64(value("ephemeral-storage")), GPUs: int(value(b.GPUResource)),
	}
}

func plus(a, b cluster.Needs, sign int) cluster.Needs {
	return cluster.Needs{
		CPUs: a.CPUs + float64(sign)*b.CPUs, MemoryBytes: a.MemoryBytes + int64(sign)*b.MemoryBytes,
		DiskBytes: a.DiskBytes + int64(sign)*b.DiskBytes, GPUs: a.GPUs + sign*b.GPUs,
	}
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

// fits reports whether the selector, the exclusions and the tolerations allow the node.
// Taints that come and go with its health do not count, nor those that preemptible jobs
// tolerate.
func (b *Backend) fits(n *node) bool {
	if slices.Contains(b.Exclude, n.Name) {
		return false
	}
	for k, v := range b.NodeSelector {
		if have, ok := n.Labels[k]; !ok || have != v {
			return false
		}
	}
	return !slices.ContainsFunc(n.Spec.Taints, func(t taint) bool {
		return t.Effect != "PreferNoSchedule" && !strings.HasPrefix(t.Key, "node.kubernetes.io/") && !slices.Contains(spotTaints, t.Key) && !b.tolerates(t)
	})
}

func (b *Backend) tolerates(t taint) bool {
	for _, o := range b.Tolerations {
		key := o.Key == t.Key || o.Key == "" && o.Operator == "Exists"
		value := o.Operator == "Exists" || o.Value == t.Value
		effect := o.Effect == "" || o.Effect == t.Effect
		if key && value && effect {
			return true
		}
	}
	return false
}
