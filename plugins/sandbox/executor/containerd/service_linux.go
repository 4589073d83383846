package containerd

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// listenIn listens on the loopback interface of the process's network namespace. Port 0
// is any free port.
func listenIn(pid uint32, port int) (net.Listener, error) {
	type result struct {
		l   net.Listener
		err error
	}
	out := make(chan result)
	go func() {
		// The thread is never unlocked. It ends with the goroutine, so that no other
		// goroutine can run in the namespace.
		runtime.LockOSThread()
		l, err := listenThere(pid, port)
		out <- result{l, err}
	}()
	r := <-out
	return r.l, r.err
}

func listenThere(pid uint32, port int) (net.Listener, error) {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter the network namespace: %w", err)
	}
	if err := executor.LoopbackUp(); err != nil {
		return nil, fmt.Errorf("bring up the loopback interface: %w", err)
	}
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
