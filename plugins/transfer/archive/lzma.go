package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ulikunitz/xz/lzma"
)

// maxDictionary limits the memory of one LZMA stream. The largest preset of the
// newest 7-Zip versions needs 1.5 GiB; data sets use 64 MiB at most.
const maxDictionary = 1536 << 20

var errLZMA = errors.New("invalid LZMA data")

// dictionary returns the size of a stream's dictionary, which need not be larger
// than the stream.
func dictionary(claimed uint32, size int64) (uint32, error) {
	n := min(max(int64(claimed), lzma.MinDictCap), max(size, lzma.MinDictCap))
	if n > maxDictionary {
		return 0, fmt.Errorf("%w: LZMA dictionary of %d bytes", ErrUnsafe, n)
	}
	return uint32(n), nil
}

// newLZMAReader reads a raw LZMA stream of known length. It takes the five bytes of
// properties: lc/lp/pb and the dictionary size.
func newLZMAReader(src io.Reader, props []byte, size int64) (io.Reader, error) {
	if len(props) != 5 {
		return nil, errLZMA
	}
	dict, err := dictionary(binary.LittleEndian.Uint32(props[1:]), size)
	if err != nil {
		return nil, err
	}
	// The header of a .lzma file.
	head := binary.LittleEndian.AppendUint32([]byte{props[0]}, dict)
	head = binary.LittleEndian.AppendUint64(head, uint64(size))
	return openLZMA(lzma.NewReader(io.MultiReader(bytes.NewReader(head), src)))
}

// newLZMA2Reader reads a raw LZMA2 stream. It takes the properties byte, which
// contains the dictionary size.
func newLZMA2Reader(src io.Reader, props []byte, size int64) (io.Reader, error) {
	if len(props) != 1 || props[0] > 40 {
		return nil, errLZMA
	}
	dict, err := dictionary(lzma2Dictionary(props[0]), size)
	if err != nil {
		return nil, err
	}
	return openLZMA(lzma.Reader2Config{DictCap: int(dict)}.NewReader2(src))
}

// lzma2Dictionary returns the dictionary size that the properties byte of an LZMA2
// stream claims.
func lzma2Dictionary(props byte) uint32 {
	return uint32(min((2|uint64(props)&1)<<(props/2+11), math.MaxUint32))
}

func openLZMA[R io.Reader](r R, err error) (io.Reader, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLZMA, err)
	}
	return r, nil
}
