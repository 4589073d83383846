package sched

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Capacity is the amount of resources that a machine can lease. Zero CPUs or
// bytes are unknown and set no limit. No Devices means no GPUs.
type Capacity struct {
	CPUs        float64
	MemoryBytes int64
	DiskBytes   int64
	// Devices are the names of the GPUs.
	Devices []string
}

// UnfitError means that a machine can never satisfy a request.
type UnfitError struct {
	// Task is the task's name, or "" if the message is shown together with it.
	Task string
	// Lacks has one phrase per missing resource, with the request and the
	// machine's amount.
	Lacks []string
}

// Error returns the complete sentence.
func (e *UnfitError) Error() string {
	task := "it"
	if e.Task != "" {
		task = e.Task
	}
	return task + " can never run on this machine: it needs " + strings.Join(e.Lacks, "; ")
}

// Check returns an *UnfitError if the machine is too small for the request of
// the named task.
func (c Capacity) Check(task string, r Resources) error {
	var lacks []string
	if c.CPUs > 0 && milli(r.CPUs) > milli(c.CPUs) {
		lacks = append(lacks, fmt.Sprintf("%s, this machine has %s", cpus(r.CPUs), number(c.CPUs)))
	}
	if c.MemoryBytes > 0 && r.MemoryBytes > c.MemoryBytes {
		lacks = append(lacks, fmt.Sprintf("%s of memory, this machine has %s", Bytes(r.MemoryBytes), Bytes(c.MemoryBytes)))
	}
	if c.DiskBytes > 0 && r.DiskBytes > c.DiskBytes {
		lacks = append(lacks, fmt.Sprintf("%s of disk, this machine has %s free", Bytes(r.DiskBytes), Bytes(c.DiskBytes)))
	}
	if r.GPUs > len(c.Devices) {
		lacks = append(lacks, fmt.Sprintf("%s, this machine has %s", plural(r.GPUs, "GPU"), c.devices()))
	}
	if lacks == nil {
		return nil
	}
	return &UnfitError{Task: task, Lacks: lacks}
}

// Check checks the requests of all tasks and joins the errors.
func Check(tasks []Task, c Capacity) error {
	var errs []error
	for i := range tasks {
		if err := c.Check(tasks[i].Name, tasks[i].Needs); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c Capacity) devices() string {
	if len(c.Devices) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%s)", len(c.Devices), strings.Join(c.Devices, ", "))
}

func cpus(n float64) string {
	if n == 1 {
		return "1 CPU"
	}
	return number(n) + " CPUs"
}

func number(n float64) string { return fmt.Sprintf("%.4g", n) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bytes formats a size with a binary unit: 1536 is "1.5 KiB".
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	return fmt.Sprintf("%.4g %s", f, units[u])
}

// milli converts CPUs to thousandths, rounded up, so that sums are exact.
func milli(cpus float64) int64 {
	if cpus <= 0 {
		return 0
	}
	return int64(math.Ceil(cpus*1000 - 1e-6))
}
