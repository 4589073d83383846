package remote

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const (
	packHeader = "mleflow pack 1\n"
	// smallObject is the largest size of an object that goes into a pack. Larger
	// objects use the bandwidth well by themselves.
	smallObject = 256 << 10
	// packBytes is the size at which a pack is complete, and packObjects the most
	// objects it may hold, which limits its index to a few MB. A fetch may need
	// only one object of a pack, so a pack must not be much larger.
	packBytes   = 32 << 20
	packObjects = 16 << 10
)

// object is an entry in the index of a pack.
type object struct {
	id   digest.ContentID
	size int64
}

// encodeIndex returns the first part of a pack, and the pack's name.
func encodeIndex(objects []object) ([]byte, digest.ContentID) {
	buf := make([]byte, 0, len(packHeader)+80*len(objects))
	buf = append(buf, packHeader...)
	for _, o := range objects {
		buf = strconv.AppendInt(buf, o.size, 10)
		buf = append(buf, ' ')
		buf = hex.AppendEncode(buf, o.id[:])
		buf = append(buf, '\n')
	}
	buf = append(buf, '\n')
	return buf, digest.Of(buf)
}

// readIndex reads the index of the pack id, and returns its length as well. An invalid
// one is cache.ErrCorrupt.
func readIndex(r *bufio.Reader, id digest.ContentID) (objects []object, size int64, err error) {
	hash := digest.NewWriter()
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, fmt.Errorf("%w: its index is incomplete", cache.ErrCorrupt)
		}
		if err != nil {
			return nil, 0, err
		}
		_, _ = hash.Write(line)
		size += int64(len(line))
		text := string(line[:len(line)-1])
		switch {
		case n == 0 && text+"\n" != packHeader:
			return nil, 0, fmt.Errorf("%w: it is not a pack", cache.ErrCorrupt)
		case n == 0:
		case text == "":
			if hash.ID() != id {
				return nil, 0, fmt.Errorf("%w: its index does not match its name", cache.ErrCorrupt)
			}
			return objects, size, nil
		case n > packObjects:
			return nil, 0, fmt.Errorf("%w: it contains too many objects", cache.ErrCorrupt)
		default:
			o, err := parseObject(text)
			if err != nil {
				return nil, 0, fmt.Errorf("%w: %w", cache.ErrCorrupt, err)
			}
			objects = append(objects, o)
		}
	}
}

func parseObject(text string) (o object, err error) {
	size, id, ok := strings.Cut(text, " ")
	if !ok {
		return o, fmt.Errorf("line %q is invalid", text)
	}
	if o.size, err = strconv.ParseInt(size, 10, 64); err != nil {
		return o, err
	}
	if o.size < 0 || o.size > packBytes {
		return o, fmt.Errorf("line %q: impossible size", text)
	}
	o.id, err = digest.ParseContentID(id)
	return o, err
}
