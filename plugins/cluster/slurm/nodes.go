package slurm

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

const nodeFields = "NodeList:|,CPUsState:|,Memory:|,AllocMem:|,Gres:|,GresUsed:|,StateLong:|,Disk:|,Partition:|,Time:|,Features:|"

// Nodes implements cluster.Backend. It leaves out the nodes that the configuration
// excludes or whose features do not meet the constraint.
func (b *Backend) Nodes(ctx context.Context) ([]cluster.Node, error) {
	args := []string{"--noheader", "--Node", "--Format=" + nodeFields}
	if b.Partition != "" {
		args = append(args, "--partition="+b.Partition)
	}
	out, err := call(ctx, "", "sinfo", args...)
	if err != nil {
		return nil, err
	}
	excluded, err := b.excluded(ctx)
	if err != nil {
		return nil, err
	}
	return b.nodes(out, excluded)
}

// excluded lists the nodes that jobs must not use.
func (b *Backend) excluded(ctx context.Context) ([]string, error) {
	list := b.Exclude
	if list == "" {
		return nil, nil
	}
	if strings.Contains(list, "/") { // as in sbatch: a file with a node, or several, on each line
		data, err := os.ReadFile(list)
		if err != nil {
			return nil, fmt.Errorf("read the excluded nodes: %w; write exclude = \"NODE,…\", or the path of a file that exists", err)
		}
		list = strings.Join(strings.Fields(string(data)), ",")
	}
	out, err := call(ctx, "", "scontrol", "show", "hostnames", list)
	return strings.Fields(out), err
}

// nodes reads what sinfo printed: a line for each node in each of its partitions.
// Without a partition in the configuration, those of the default partition count.
func (b *Backend) nodes(printed string, excluded []string) ([]cluster.Node, error) {
	var nodes []cluster.Node
	anywhere := b.Partition != "" || !strings.Contains(printed, "*")
	for line := range strings.Lines(printed) {
		n, of, err := b.node(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		if !anywhere && !strings.HasSuffix(of.partition, "*") || slices.Contains(excluded, n.Name) || !meets(b.Constraint, of.features) {
			continue
		}
		i := slices.IndexFunc(nodes, func(o cluster.Node) bool { return o.Name == n.Name })
		switch {
		case i < 0:
			nodes = append(nodes, n)
		case n.MaxTime == 0 || nodes[i].MaxTime == 0:
			nodes[i].MaxTime = 0
		default:
			nodes[i].MaxTime = max(nodes[i].MaxTime, n.MaxTime)
		}
	}
	return nodes, nil
}

// listed is what one line of sinfo says besides the node.
type listed struct {
	partition string
	features  []string
}

// meets reports whether a node with these features may meet a constraint. What is
// more than a disjunction of conjunctions is left to Slurm.
func meets(constraint string, features []string) bool {
	if constraint == "" || strings.ContainsAny(constraint, "[]()*,!") {
		return true
	}
	return slices.ContainsFunc(strings.Split(constraint, "|"), func(all string) bool {
		return !slices.ContainsFunc(strings.Split(all, "&"), func(f string) bool { return !slices.Contains(features, strings.TrimSpace(f)) })
	})
}

func (b *Backend) node(line string) (n cluster.Node, of listed, err error) {
	f := lists.Of(strings.Split(line, "|"), strings.TrimSpace)
	if len(f) < 11 {
		return n, of, fmt.Errorf("sinfo printed %q, which is not what --Format=%s gives", line, nodeFields)
	}
	cpus := strings.Split(f[1], "/") // allocated, idle, other, total
	if len(cpus) != 4 {
		return n, of, fmt.Errorf("sinfo printed %q for the CPUs of node %s", f[1], f[0])
	}
	n.Name = f[0]
	n.Has = cluster.Needs{CPUs: number(cpus[3]), MemoryBytes: int64(number(f[2])) << 20, GPUs: b.gpus(f[4]), DiskBytes: int64(number(f[7])) << 20}
	n.Free = cluster.Needs{CPUs: number(cpus[1]), MemoryBytes: n.Has.MemoryBytes - int64(number(f[3]))<<20, GPUs: n.Has.GPUs - b.gpus(f[5]), DiskBytes: n.Has.DiskBytes}
	switch strings.TrimRight(f[6], "~#%^@+-") {
	case "idle", "mixed", "allocated", "completing":
		n.Ready = true
	default:
		n.Why = f[6]
	}
	n.MaxTime = span(f[9])
	return n, listed{f[8], strings.Split(f[10], ",")}, nil
}

// span reads a time limit of Slurm, such as 1-12:00:00, 1:00:00 or 30:00; 0 for
// "infinite".
func span(text string) time.Duration {
	days, clock, ok := strings.Cut(text, "-")
	if !ok {
		days, clock = "0", text
	}
	d, unit := time.Duration(0), time.Second
	parts := strings.Split(clock, ":")
	slices.Reverse(parts)
	for _, p := range parts {
		d += time.Duration(number(p)) * unit
		unit *= 60
	}
	return d + time.Duration(number(days))*24*time.Hour
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// gresCount finds the entries of a list of generic resources with their numbers:
// gpu:2, gpu:a100:2(S:0-1), gpu:a100:1(IDX:0,3).
var gresCount = pattern.New(`(?:^|,)([a-zA-Z0-9_.:-]*?):([0-9]+)(?:\([^)]*\))?`)

// gpus counts the GPUs of the wanted type in a list of generic resources.
func (b *Backend) gpus(list string) (n int) {
	for _, m := range gresCount.Regexp().FindAllStringSubmatch(list, -1) {
		if m[1] == b.GRES || strings.HasPrefix(m[1], b.GRES+":") {
			k, _ := strconv.Atoi(m[2])
			n += k
		}
	}
	return n
}
