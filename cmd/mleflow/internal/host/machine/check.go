package machine

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Status is the outcome of a check.
type Status string

// The outcomes. Only Missing makes a machine unfit; Absent is something that
// some pipelines need and others do not.
const (
	OK      Status = "ok"
	Warn    Status = "warning"
	Absent  Status = "absent"
	Missing Status = "missing"
)

// Check is one finding.
type Check struct {
	// Name is what was looked at, in a word or two.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Fix says how to get what is missing.
	Fix string `json:"fix,omitempty"`
	// Example is what the fix looks like where it takes lines of a file.
	Example string `json:"example,omitempty"`
}

// Machine says where to look. Root and Home let tests look at a made-up
// machine.
type Machine struct {
	// Root is the root of the file system.
	Root string
	// Home is the user's home directory.
	Home string
	// Env returns an environment variable.
	Env func(string) string
	// CacheDir is the folder of the cache; it need not exist.
	CacheDir string
	// Folder is the folder of the pipeline that is looked at, whose programs are not run;
	// "" is none.
	Folder string
	// UID is the user that mleflow runs as.
	UID int
	// Sandbox tries the runtime sandbox: it runs a command in it that does
	// nothing. It is nil in a program without that runtime.
	Sandbox func() executor.Availability
	// Refused lists the system calls that make a sandbox and that a filter around
	// this process refuses; nil knows of none.
	Refused func() []string
}

// Examine runs all checks in the order people should read them.
func (m Machine) Examine(ctx context.Context) []Check {
	checks := []Check{m.processors(), m.memory(), m.cacheFolder(), m.disk(), m.links(), m.temporary()}
	if runtime.GOOS != "linux" {
		return append(checks, noAgents, m.reach(ctx), m.kaggle())
	}
	checks = append(checks, m.runtimes(ctx)...)
	return append(checks, m.gpus(ctx), m.cdi(), m.reach(ctx), m.kaggle())
}

// noAgents stands for all that agents need, where they cannot run.
var noAgents = Check{
	Name: "agents", Status: Absent, Detail: "agents and exec steps run on Linux only; downloads, preparation, grading, boards and reports work here",
	Fix: "run pipelines with agents in a Linux virtual machine or container",
}

// Fit reports whether nothing is missing that every pipeline needs.
func Fit(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return c.Status == Missing })
}

func (m Machine) path(p string) string { return filepath.Join(m.Root, p) }
