package containerd

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/containerd/containerd/v2/client"
)

// Daemon is what a running containerd says of itself.
type Daemon struct {
	// Version is the daemon's release, such as "1.6.20~ds1".
	Version string
	// Revision is the source it was built from; it may be empty.
	Revision string
}

// probeTimeout bounds the connection and the answer together.
const probeTimeout = 3 * time.Second

// Probe asks the daemon behind the socket for its version. The error says
// whether nobody listens, permission is missing, or what answers is no
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
	return Daemon{Version: v.Version, Revision: v.Revision}, nil
}

// listening fails at once where the client would try again until its time is
// up.
func listening(ctx context.Context, socket string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return conn.Close()
}
