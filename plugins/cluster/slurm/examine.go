package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// commands are those of Slurm that the backend calls.
var commands = []string{"sbatch", "squeue", "sinfo", "scontrol", "scancel"}

// Examine implements cluster.Backend.
func (b *Backend) Examine(ctx context.Context) []cluster.Check {
	found := cluster.Check{Name: "commands", OK: true, Detail: strings.Join(commands, ", ")}
	for _, name := range commands {
		if _, err := checkout.Program(name); err != nil {
			found.OK, found.Detail, found.Fix = false, name+" is not in the path", "run mleflow where Slurm's commands are, such as on a login node"
			return []cluster.Check{found}
		}
	}
	checks := []cluster.Check{found, b.answers(ctx), b.canWrite(), b.program(), b.envFile()}
	if !checks[1].OK {
		return checks // nothing else can be asked
	}
	return append(checks, cluster.ExamineNodes(ctx, b, "partition and constraint name no such nodes: sinfo lists those that there are"), b.accepts(ctx))
}

// answers runs squeue, as Watch does.
func (b *Backend) answers(ctx context.Context) cluster.Check {
	known, err := queue(ctx)
	if err != nil {
		return cluster.Check{Name: "controller", Detail: err.Error(), Fix: "scontrol ping says whether slurmctld runs; munge must run, too, with the cluster's key"}
	}
	return cluster.Check{Name: "controller", OK: true, Detail: fmt.Sprintf("squeue answers; it knows %d of mleflow's jobs", len(known))}
}

func (b *Backend) canWrite() cluster.Check {
	c := cluster.Check{Name: "folder", OK: true, Detail: b.Folder + "; all nodes must see it"}
	f, err := os.CreateTemp(b.Folder, ".try-")
	if err != nil {
		return cluster.Check{Name: "folder", Detail: err.Error(), Fix: "write folder = \"…\", a folder that you may write to and that all nodes see"}
	}
	f.Close()
	_ = os.Remove(f.Name())
	if err := b.own(); err != nil {
		c.OK, c.Detail, c.Fix = false, err.Error(), "name a folder and an env_file that only you may write to"
	}
	return c
}

// own returns an error if other users may write what jobs run.
func (s *settings) own() error { return errors.Join(cluster.Own(s.Folder), cluster.Own(s.EnvFile)) }

// program looks at the program as this machine sees it.
func (b *Backend) program() cluster.Check {
	c := cluster.Check{Name: "binary", OK: true, Optional: true, Detail: b.Binary + "; all nodes must have it"}
	if _, err := exec.LookPath(b.Binary); err != nil {
		c.OK, c.Detail, c.Fix = false, "not a program here: "+err.Error(), "each node must have it; otherwise write binary = \"…\", the path of mleflow there"
	}
	return c
}

func (b *Backend) envFile() cluster.Check {
	c := cluster.Check{Name: "env_file", OK: true, Optional: true, Detail: "none"}
	if b.EnvFile == "" {
		return c
	}
	info, err := os.Stat(b.EnvFile)
	switch {
	case err != nil:
		c.OK, c.Detail, c.Fix = false, "not seen from here: "+err.Error(), "each node must have it"
	case info.Mode().Perm()&0o077 != 0:
		c.OK, c.Detail, c.Fix = false, b.EnvFile+" is open to other users", "chmod 600 "+b.EnvFile
	default:
		c.Detail = b.EnvFile
	}
	return c
}

// accepts asks sbatch whether it would take a job.
func (b *Backend) accepts(ctx context.Context) cluster.Check {
	job := cluster.Job{Name: cluster.JobName(strings.Repeat("0", 64)), Args: []string{"version"}}
	options := append([]string{"--test-only"}, b.options(job, "")...)
	if _, err := call(ctx, b.script(job), "sbatch", options...); err != nil {
		return cluster.Check{Name: "job", Detail: err.Error(), Fix: "compare partition, account, qos, constraint, reservation and options with what sacctmgr show association and sinfo list for you"}
	}
	return cluster.Check{Name: "job", OK: true, Detail: "sbatch would take one (--test-only)"}
}
