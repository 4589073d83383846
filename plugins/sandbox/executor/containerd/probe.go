package containerd

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/containerd/containerd/v2/client"
)

// Daemon describes a running containerd.
type Daemon struct {
	// Version is the daemon's release, such as "1.6.20~ds1".
	Version string
}

// probeTimeout limits the connection and the answer together.
const probeTimeout = 3 * time.Second

// Probe asks the daemon behind the socket for its version. The error distinguishes a
// socket on which nobody listens, a missing permission, and a server that is not
// containerd.
func Probe(ctx context.Context, socket string) (Daemon, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := listening(ctx, socket); err != nil {
		return Daemon{}, fmt.Errorf("connect to containerd: %w", err)
	}
	c, err := client.New(socket, client.WithTimeout(probeTimeout))
	if err != nil {
		return Daemon{}, fmt.Errorf("connect to containerd: %w", err)
	}
	defer c.Close()
	v, err := c.Version(ctx)
	if err != nil {
		return Daemon{}, fmt.Errorf("ask containerd for its version: %w", err)
	}
	return Daemon{Version: v.Version}, nil
}

// listening fails at once if nobody listens, whereas the client would retry until its
// timeout.
func listening(ctx context.Context, socket string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return conn.Close()
}
