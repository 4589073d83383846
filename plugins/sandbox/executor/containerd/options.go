package containerd

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// defaultSocket is where containerd listens unless it is told otherwise.
const defaultSocket = "/run/containerd/containerd.sock"

// Namespace is containerd's namespace of everything that mleflow makes.
const Namespace = "mleflow"

// Options are where the runtime finds its parts. The zero value is right on an
// ordinary machine.
type Options struct {
	// Socket of the daemon; empty is CONTAINERD_ADDRESS, else defaultSocket.
	Socket string
	// Namespace of containerd; empty is Namespace.
	Namespace string
	// StateDir is where the runtime keeps its own files, such as the output
	// of commands that may be resumed; empty is the folder containerd in
	// MLEFLOW_STATE_DIR, which is /var/lib/mleflow where it is not set.
	// Processes that should see each other's runs share it.
	StateDir string
	// Snapshotter is containerd's; empty is the daemon's usual one.
	Snapshotter string
	// CDIDirs are searched for descriptions of devices; empty is CDI's
	// default, /etc/cdi and /var/run/cdi.
	CDIDirs []string
	// Self is the mleflow that serves LogCommand; empty is the running
	// program.
	Self string
	// ImageBytes is the most that an image may take unpacked; 0 is
	// MLEFLOW_IMAGE_LIMIT, in bytes, else image.DefaultMaxBytes.
	ImageBytes int64
	// ImageAge is after how long without use Sweep removes an image; 0 is
	// a week.
	ImageAge time.Duration
}

func (o Options) withDefaults() Options {
	env := strings.TrimPrefix(os.Getenv("CONTAINERD_ADDRESS"), "unix://")
	o.Socket = cmp.Or(o.Socket, env, defaultSocket)
	o.Namespace = cmp.Or(o.Namespace, Namespace)
	o.StateDir = nolink.Folder(cmp.Or(o.StateDir, filepath.Join(cmp.Or(os.Getenv("MLEFLOW_STATE_DIR"), "/var/lib/mleflow"), "containerd")))
	limit, _ := strconv.ParseInt(os.Getenv("MLEFLOW_IMAGE_LIMIT"), 10, 64)
	o.ImageBytes = cmp.Or(o.ImageBytes, max(limit, 0), image.DefaultMaxBytes)
	o.ImageAge = cmp.Or(o.ImageAge, 7*24*time.Hour)
	if o.Self == "" {
		if self, err := os.Executable(); err == nil {
			o.Self = self
		}
	}
	return o
}
