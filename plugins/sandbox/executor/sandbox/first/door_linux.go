package first

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// The descriptors that come through the door of a container: the standard streams, those
// from ControlFD to EndFD, and any number of locks that are held while the process lives.
const (
	leastFiles = EndFD + 1
	mostFiles  = 250 // the kernel sends 253 at once
)

// aside is the first number for descriptors on their way to their own.
const aside = 2 * mostFiles

var errDoor = errors.New("the owner sent something else than the descriptors of a first process")

// enter makes the first process of a container one of a sandbox. The container's runtime
// passes nothing on but the standard streams, so a socket of the owner, the door, has been
// mounted into the container. Through it come the descriptors, and this program starts
// again with them and without the variables of the image. It returns only if that fails.
func enter(door string) int {
	if receive(door) != nil {
		return NoDoor
	}
	_ = syscall.Exec("/proc/self/exe", Args(), Env())
	return 1
}

// NoDoor is the exit status of a first process that got no descriptors.
const NoDoor = 101

// receive puts the descriptors into their places.
func receive(door string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: door}); err != nil {
		return os.NewSyscallError("connect", err)
	}
	rights := make([]byte, syscall.CmsgSpace(4*mostFiles))
	_, n, _, _, err := syscall.Recvmsg(fd, make([]byte, 1), rights, syscall.MSG_CMSG_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("recvmsg", err)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return errDoor
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(files) < leastFiles {
		return errDoor
	}
	for i, fd := range files { // none is overwritten before it is moved
		moved, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, uintptr(aside+i))
		if errno != 0 {
			return os.NewSyscallError("fcntl", errno)
		}
		files[i] = int(moved)
	}
	for i, fd := range files {
		if err := syscall.Dup3(fd, i, 0); err != nil {
			return os.NewSyscallError("dup3", err)
		}
	}
	return nil
}

// Threads is the number of threads that a first process has at most. The limit of a
// container's processes counts them.
const (
	Threads = 16
	spare   = 8
)

// spareThreads makes threads that Go keeps and uses when a call blocks. A command that has
// used up the container's processes would otherwise end this one, as Go ends a program
// that gets no thread.
func spareThreads() {
	var held, ended sync.WaitGroup
	release := make(chan struct{})
	for range spare {
		held.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // each has its own
			held.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	held.Wait()
	close(release)
	ended.Wait()
}

// groupKills returns the number of processes of this container that the kernel killed at
// its memory limit, as far as the container shows its cgroup.
func groupKills() int {
	for _, file := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		text, _ := os.ReadFile(file)
		for line := range bytes.Lines(text) {
			if count, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok {
				n, _ := strconv.Atoi(string(count))
				return n
			}
		}
	}
	return 0
}
