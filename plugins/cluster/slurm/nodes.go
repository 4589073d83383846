package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

const nodeFields = "NodeList:|,CPUsState:|,Memory:|,AllocMem:|,Gres:|,GresUsed:|,StateLong:|,Disk:|"

// Nodes implements cluster.Backend.
func (b *Backend) Nodes(ctx context.Context) ([]cluster.Node, error) {
	args := []string{"--noheader", "--Node", "--Format=" + nodeFields}
	if b.Partition != "" {
		args = append(args, "--partition="+b.Partition)
	}
	out, err := call(ctx, "", "sinfo", args...)
	if err != nil {
		return nil, err
	}
	var nodes []cluster.Node
	seen := map[string]bool{} // a node is listed once for each of its partitions
	for line := range strings.Lines(out) {
		n, err := b.node(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		if !seen[n.Name] {
			seen[n.Name] = true
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

func (b *Backend) node(line string) (n cluster.Node, err error) {
	f := strings.Split(line, "|")
	if len(f) < 8 {
		return n, fmt.Errorf("sinfo printed %q, which is not what --Format=%s gives", line, nodeFields)
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	cpus := strings.Split(f[1], "/") // allocated, idle, other, total
	if len(cpus) != 4 {
		return n, fmt.Errorf("sinfo printed %q for the CPUs of node %s", f[1], f[0])
	}
	n.Name = f[0]
	n.Has = cluster.Needs{CPUs: number(cpus[3]), MemoryBytes: int64(number(f[2])) << 20, GPUs: b.gpus(f[4]), DiskBytes: int64(number(f[7])) << 20}
	n.Free = cluster.Needs{CPUs: number(cpus[1]), MemoryBytes: n.Has.MemoryBytes - int64(number(f[3]))<<20, GPUs: n.Has.GPUs - b.gpus(f[5]), DiskBytes: n.Has.DiskBytes}
	switch strings.TrimRight(f[6], "~#%^@+-") {
	case "idle", "mixed", "allocated", "completing":
		n.Ready = true
	}
	return n, nil
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// gresCount returns the number in an entry of a list of generic resources:
// gpu:2, gpu:a100:2(S:0-1), gpu:a100:1(IDX:0).
var gresCount = pattern.New(`^([a-zA-Z0-9_.:-]*?):([0-9]+)(\(.*)?$`)

// gpus counts the GPUs of the wanted type in a list of generic resources.
func (b *Backend) gpus(list string) (n int) {
	depth, start := 0, 0
	add := func(text string) {
		if m := gresCount.Regexp().FindStringSubmatch(text); m != nil && (m[1] == b.GRES || strings.HasPrefix(m[1], b.GRES+":")) {
			k, _ := strconv.Atoi(m[2])
			n += k
		}
	}
	for i, c := range list {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				add(list[start:i])
				start = i + 1
			}
		}
	}
	add(list[start:])
	return n
}
