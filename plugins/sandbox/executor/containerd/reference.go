package containerd

import "github.com/mleflow/mleflow/plugins/sandbox/executor/image"

// ResolveImage returns the digest of an image by its name and files alone. The
// error is image.ErrUnpinned for one that only the daemon can tell.
func ResolveImage(name string) (string, error) { return image.Resolve(name) }
