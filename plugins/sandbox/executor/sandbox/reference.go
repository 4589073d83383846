package sandbox

import "github.com/mleflow/mleflow/plugins/sandbox/executor/image"

// ResolveImage returns the digest of an image by its name and files alone.
func ResolveImage(name string) (string, error) { return image.Resolve(name) }
