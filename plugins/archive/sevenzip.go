package archive

import (
	"context"
	"fmt"
	"io"
)

func walkSevenZip(context.Context, Source, *guard, func(Entry, io.Reader) error) error {
	return fmt.Errorf("%w: 7z", ErrFormat)
}

func newSevenZipPacker(io.Writer, *guard) (Packer, error) {
	return nil, fmt.Errorf("%w: 7z", ErrFormat)
}
