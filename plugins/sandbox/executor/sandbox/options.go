package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// Options configure the runtime. The zero value is right for an ordinary machine.
type Options struct {
	// Dir is the folder for unpacked images and the folders of runs; "" is the folder
	// "mleflow/sandbox" in the user's cache folder. Processes that should see each
	// other's runs must share it.
	Dir string
	// Processors is the folder of the locks on processors, which all users of the machine
	// can share; "" is the folder "cpus" in Dir.
	Processors string
	// Self is the program that is started as the first process, and imports this
	// package; "" is the running program.
	Self string
	// Small is a program that imports package first and little else, which starts faster
	// than Self; "" is the one that is built into the running program, if there is one.
	Small string
	// Private are folders that a guest without an image never sees. They add to the
	// user's home, the folder for temporary files, that of the cache and the working
	// directory.
	Private []string
	// CDIDirs are the folders with descriptions of devices; empty is CDI's default,
	// /etc/cdi and /var/run/cdi.
	CDIDirs []string
	// Containers are where first processes live; nil is namespaces that this package makes.
	Containers Containers `json:"-"`
	// ImageBytes is the maximum unpacked size of an image; 0 is MLEFLOW_IMAGE_LIMIT, in
	// bytes, or, if that is not set, image.DefaultMaxBytes.
	ImageBytes int64
}

// WithDefaults returns the options with their defaults, for a runtime whose folder has the
// name in the user's cache folder.
func (o Options) WithDefaults(name string) Options {
	if o.Dir == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			caches = os.TempDir()
		}
		o.Dir = filepath.Join(caches, "mleflow", name)
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
