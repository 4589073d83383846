package remote

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// endMark starts the last line of a file that carries its own checksum.
const endMark = "end "

// sealText appends a line with the digest of everything before it.
func sealText(text []byte) []byte {
	id := digest.Of(text)
	text = append(text, endMark...)
	text = hex.AppendEncode(text, id[:])
	return append(text, '\n')
}

// unseal checks the last line and the first, and returns what is between them.
func unseal(data []byte, header string) ([]byte, error) {
	const tail = len(endMark) + 2*digest.Size + 1
	cut := len(data) - tail
	if cut < len(header) || !bytes.Equal(sealText(bytes.Clone(data[:cut])), data) {
		return nil, fmt.Errorf("%w: its last line does not match the digest of the rest", cache.ErrCorrupt)
	}
	body, ok := bytes.CutPrefix(data[:cut], []byte(header))
	if !ok {
		return nil, fmt.Errorf("%w: it does not start with %q", cache.ErrCorrupt, header)
	}
	return body, nil
}
