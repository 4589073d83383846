package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/small"
)

// launch starts the first process with the files as its descriptors, from 0. It starts
// the small program for that or, if this program has none or may not start it, does it
// itself.
func (r *run) launch(p *plan, files []*os.File) (*os.Process, error) {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if !p.HostNetwork {
		flags |= unix.CLONE_NEWNET
	}
	l := first.Launch{Flags: uintptr(flags), Files: len(files)}
	r.users.mapInto(&l)
	group := -1
	if r.group != nil {
		dir, err := os.Open(r.group.dir)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		group = int(dir.Fd())
	}
	start := func(program string, args []string, files []*os.File, attr *syscall.SysProcAttr) (*os.Process, error) {
		attr.UseCgroupFD, attr.CgroupFD = group >= 0, group
		return os.StartProcess(program, args, &os.ProcAttr{Env: first.Env(), Files: files, Sys: attr})
	}
	if small := cmp.Or(r.e.opts.Small, small.Path()); small != "" {
		report, theirs, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer report.Close()
		launcher, err := start(small, l.Args(), append(files[:len(files):len(files)], theirs), &syscall.SysProcAttr{})
		theirs.Close()
		if err == nil {
			return launched(launcher, report)
		}
	}
	return start(r.e.opts.Self, first.Args(), files, l.Attributes())
}

// launched returns the process that a launcher has started.
func launched(launcher *os.Process, report io.Reader) (*os.Process, error) {
	var done first.Launched
	_, err := fmt.Fscan(report, &done.PID, &done.Err)
	status, waitErr := launcher.Wait()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the launcher ended (%v) without a process: %w", status, errors.Join(err, waitErr))
	case done.Err != 0:
		return nil, os.NewSyscallError("fork", done.Err)
	}
	return os.FindProcess(done.PID)
}

// wait waits for the end of the first process, and of its output.
func (r *run) wait(process *os.Process) (*os.ProcessState, error) {
	status, err := process.Wait()
	return status, errors.Join(err, r.streams.Wait(first.OutputDelay))
}
