package first

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// LaunchCommand is the argument with which a program that imports this package starts a
// first process for its own parent, and ends.
//
// A process in a new user namespace starts as a copy of the one that makes it: Linux
// copies the tables of all its pages, and then each page that either of them writes. That
// takes ten times longer for a mleflow with 100 MiB than for a program that has just
// started.
const LaunchCommand = "sandbox-launch"

// Launch says how to start the first process.
type Launch struct {
	// Flags are the namespaces to make.
	Flags uintptr
	// UIDs and GIDs are the mappings of users; Setgroups lets the process change its
	// groups.
	UIDs, GIDs []syscall.SysProcIDMap
	Setgroups  bool
	// Files is the number of descriptors for the first process, from 0. The launcher
	// writes a Launched to the next one.
	Files int
}

// Launched is the ID of the first process as its parent sees it, or an error.
type Launched struct {
	PID int
	Err syscall.Errno
}

// Args returns the arguments of the launcher.
func (l Launch) Args() []string {
	text := fmt.Appendf(nil, "%d %t %d %d %d", l.Flags, l.Setgroups, l.Files, len(l.UIDs), len(l.GIDs))
	for _, list := range [][]syscall.SysProcIDMap{l.UIDs, l.GIDs} {
		for _, m := range list {
			text = fmt.Appendf(text, " %d %d %d", m.ContainerID, m.HostID, m.Size)
		}
	}
	return []string{shown, LaunchCommand, string(text)}
}

func readLaunch(words string) (l Launch, err error) {
	r := bytes.NewReader([]byte(words))
	var uids, gids int
	if _, err := fmt.Fscan(r, &l.Flags, &l.Setgroups, &l.Files, &uids, &gids); err != nil {
		return l, err
	}
	l.UIDs, l.GIDs = make([]syscall.SysProcIDMap, uids), make([]syscall.SysProcIDMap, gids)
	for _, list := range [][]syscall.SysProcIDMap{l.UIDs, l.GIDs} {
		for i := range list {
			if _, err := fmt.Fscan(r, &list[i].ContainerID, &list[i].HostID, &list[i].Size); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// Attributes returns how the first process is started. Until the command starts, it
// keeps the capabilities of a user in its own user namespace.
func (l Launch) Attributes() *syscall.SysProcAttr {
	const capabilities = uintptr(41) // up to CAP_LAST_CAP of package unix, which is initialised too late
	var all []uintptr
	for n := range capabilities {
		all = append(all, n)
	}
	return &syscall.SysProcAttr{
		Cloneflags: l.Flags, UidMappings: l.UIDs, GidMappings: l.GIDs, GidMappingsEnableSetgroups: l.Setgroups,
		AmbientCaps: all, Setsid: true,
	}
}

// launch starts the first process as a child of the launcher's parent.
func launch(words string) int {
	l, err := readLaunch(words)
	if err != nil {
		return 1
	}
	var files []uintptr
	for fd := range l.Files {
		files = append(files, uintptr(fd))
	}
	for fd := range l.Files + 1 {
		syscall.CloseOnExec(fd)
	}
	attr := l.Attributes()
	attr.Cloneflags |= syscall.CLONE_PARENT
	var done Launched
	done.PID, err = syscall.ForkExec("/proc/self/exe", Args(), &syscall.ProcAttr{Env: Env(), Files: files, Sys: attr})
	if err != nil {
		done.Err, _ = err.(syscall.Errno)
	}
	report := os.NewFile(uintptr(l.Files), "report")
	if _, err := fmt.Fprintf(report, "%d %d", done.PID, done.Err); err != nil {
		return 1
	}
	return 0
}

// shown is the program's name that the guest sees, in place of its path.
const shown = "mleflow"

// Args returns the arguments of the first process.
func Args() []string { return []string{shown, Command} }

// Env returns the environment of the first process and of the launcher.
func Env() []string { return []string{Variable + "=1", "GOMAXPROCS=1"} }
