package sandbox

import (
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// ResolveImage returns the digest of an image by its name and files alone.
func ResolveImage(name string) (string, error) { return containerd.ResolveImage(name) }
