package bundle

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// readBlobHeader reads the header of a blob, whose name must come after last.
func readBlobHeader(head []byte, where, last string) (string, span, error) {
	name := headerName(head)
	size, ok := headerSize(head)
	switch {
	case !ok || size > maxBlob:
		return "", span{}, damage(where, "it declares a size that no bundle can have")
	case !strings.HasPrefix(name, blobFolder) || len(name) != len(blobFolder)+2*digest.Size:
		return "", span{}, damage(where, "it names %.90q, which is not a blob", name)
	case name <= last:
		return "", span{}, damage(where, "%s is not in its place", name)
	}
	return name, span{size: size}, checkHeader(head, where, name, size)
}

// checkHeader compares a header with its only form.
func checkHeader(head []byte, where, name string, size int64) error {
	want, err := header(name, size)
	if err != nil {
		return damage(where, "%w", err)
	}
	if at := differ(want, head); at >= 0 {
		return damage(fmt.Sprintf("%s (%s)", where, name), "mleflow would write byte %d differently", at)
	}
	return nil
}

// sum returns the digest of a part of the file.
func (b *Bundle) sum(ctx context.Context, s span) (digest.ContentID, error) {
	w := digest.NewWriter()
	_, err := cache.Copy(ctx, b.work.Writer(w), io.NewSectionReader(b.f, s.offset, s.size))
	return w.ID(), err
}

// checkBlob reads a blob and compares it with the digest in its name.
func (b *Bundle) checkBlob(ctx context.Context, where, name string, s span) (digest.ContentID, error) {
	want, err := digest.ParseContentID(strings.TrimPrefix(name, blobFolder))
	if err != nil {
		return want, damage(where, "the name of %s is not a digest", name)
	}
	id, err := b.sum(ctx, s)
	switch {
	case err != nil:
		return want, fmt.Errorf("read %s: %w", where, err)
	case id != want:
		return want, damage(where, "the content of %s does not match its digest", name)
	}
	return want, nil
}
