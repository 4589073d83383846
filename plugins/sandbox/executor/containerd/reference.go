package containerd

import "github.com/mleflow/mleflow/plugins/sandbox/executor/image"

// ResolveImage returns the digest of an image, based only on its name and files. The
// error is image.ErrUnpinned if only the daemon knows the digest.
func ResolveImage(name string) (string, error) { return image.Resolve(name) }
