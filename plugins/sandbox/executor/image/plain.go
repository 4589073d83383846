package image

import (
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// plainLayer is an uncompressed layer in a file. It is uncompressed because it is
// written several times during a build, and because the output of a compressor depends
// on its version.
type plainLayer struct {
	file   string
	digest v1.Hash
	size   int64
}

func readPlain(file string, work *progress.Work) (*plainLayer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	work.Begin("hashing the layer", 0, info.Size())
	sum, size, err := v1.SHA256(work.Reader(f))
	return &plainLayer{file, sum, size}, err
}

// Methods of v1.Layer.

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.file) }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.file) }
