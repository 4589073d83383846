package docker

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// Options configure the runtime. The zero value is right for an ordinary machine.
type Options struct {
	// Socket is the server's socket; "" is the one that Find finds.
	Socket string
	// Dir is the folder of the runtime's own files, such as the output of commands; "" is
	// the folder "mleflow/docker" in the user's cache folder. Processes that should see
	// each other's runs must share it.
	Dir string
	// Processors is the folder of the locks on processors; see sandbox.Options.
	Processors string
	// Self is the program that is the first process of containers; "" is the running
	// program.
	Self string
	// Private are folders that no guest may see, besides the user's own.
	Private []string
	// CDIDirs are the folders with descriptions of devices; empty is CDI's default,
	// /etc/cdi and /var/run/cdi.
	CDIDirs []string
	// ImageBytes is the maximum unpacked size of an image that the server does not have; 0
	// is MLEFLOW_IMAGE_LIMIT, in bytes, or, if that is not set, image.DefaultMaxBytes.
	ImageBytes int64
}

func (o Options) withDefaults() Options {
	if o.Dir == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			caches = os.TempDir()
		}
		o.Dir = filepath.Join(caches, "mleflow", "docker")
	}
	if dir, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = dir
	}
	o.Processors = cmp.Or(o.Processors, filepath.Join(o.Dir, "cpus"))
	limit, _ := strconv.ParseInt(os.Getenv("MLEFLOW_IMAGE_LIMIT"), 10, 64)
	o.ImageBytes = cmp.Or(o.ImageBytes, max(limit, 0), image.DefaultMaxBytes)
	o.Self = cmp.Or(o.Self, "/proc/self/exe")
	return o
}
