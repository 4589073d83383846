package sandbox

import "github.com/mleflow/mleflow/plugins/sandbox/executor/image"

// ResolveImage returns the digest of an image, based only on its name and files.
func ResolveImage(name string) (string, error) { return image.Resolve(name) }
