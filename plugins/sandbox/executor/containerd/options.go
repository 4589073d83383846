package containerd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/client"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// defaultSocket is containerd's default socket.
const defaultSocket = "/run/containerd/containerd.sock"

// Namespace is the containerd namespace of everything that mleflow creates.
const Namespace = "mleflow"

// Options configure the runtime. The zero value is right for an ordinary machine.
type Options struct {
	// Socket is the daemon's socket; "" is CONTAINERD_ADDRESS or, if that is not set,
	// defaultSocket.
	Socket string
	// Namespace is the containerd namespace; "" is the constant Namespace.
	Namespace string
	// StateDir is the folder for the runtime's own files, such as the output of
	// commands that can be resumed. "" is the folder containerd in MLEFLOW_STATE_DIR,
	// which defaults to /var/lib/mleflow. Processes that should see each other's runs
	// must share it.
	StateDir string
	// Snapshotter is containerd's snapshotter; "" is the daemon's default.
	Snapshotter string
	// CDIDirs are the folders with descriptions of devices; empty is CDI's default,
	// /etc/cdi and /var/run/cdi.
	CDIDirs []string
	// Self is the mleflow binary that serves LogCommand; "" is the running program.
	Self string
	// ImageBytes is the maximum unpacked size of an image; 0 is MLEFLOW_IMAGE_LIMIT, in
	// bytes, or, if that is not set, image.DefaultMaxBytes.
	ImageBytes int64
}

func (o Options) withDefaults() Options {
	env := strings.TrimPrefix(os.Getenv("CONTAINERD_ADDRESS"), "unix://")
	o.Socket = cmp.Or(o.Socket, env, defaultSocket)
	o.Namespace = cmp.Or(o.Namespace, Namespace)
	o.StateDir = nolink.Folder(cmp.Or(o.StateDir, filepath.Join(cmp.Or(os.Getenv("MLEFLOW_STATE_DIR"), "/var/lib/mleflow"), "containerd")))
	limit, _ := strconv.ParseInt(os.Getenv("MLEFLOW_IMAGE_LIMIT"), 10, 64)
	o.ImageBytes = cmp.Or(o.ImageBytes, max(limit, 0), image.DefaultMaxBytes)
	if o.Self == "" {
		if self, err := os.Executable(); err == nil {
			o.Self = self
		}
	}
	return o
}

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
