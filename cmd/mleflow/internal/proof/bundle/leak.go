package bundle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// maxUnpacked is how much is searched of the plain bytes of a compressed file.
const maxUnpacked = 4 << 30

var errLeak = errors.New("it contains the value of a secret")

// leaks searches the files of agents for secrets.
type leaks struct {
	secrets *secret.Set
	store   cache.Store
	// why are the reasons to omit the files that were searched.
	why map[digest.ContentID]string
}

// refuse returns the reason why a file is omitted: "" if no secret is in it.
func (l *leaks) refuse(ctx context.Context, id digest.ContentID) string {
	why, known := l.why[id]
	if known || l.secrets.Empty() {
		return why
	}
	switch err := l.search(ctx, id); {
	case errors.Is(err, secret.ErrFound):
		why = errLeak.Error()
	case err != nil:
		why = fmt.Sprintf("it cannot be searched for secrets: %v", err)
	}
	l.why[id] = why
	return why
}

// search returns secret.ErrFound if a file, or what it is compressed of, has a
// secret.
func (l *leaks) search(ctx context.Context, id digest.ContentID) error {
	for _, unpack := range []bool{false, true} {
		r, err := l.store.Open(ctx, id)
		if err != nil {
			return err
		}
		err = searchIn(r, l.secrets, unpack)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// searchIn searches the bytes that r has, or with unpack those of which a compressed
// file is made. What cannot be decompressed is not compressed.
func searchIn(r io.Reader, secrets *secret.Set, unpack bool) error {
	guard, from := secret.NewGuard(secrets), bufio.NewReaderSize(r, 256<<10)
	if !unpack {
		_, err := io.Copy(guard, from)
		return err
	}
	plain, done, err := archive.Decompress(from)
	if err != nil || plain == nil {
		return nil
	}
	defer done()
	if _, err = io.Copy(guard, io.LimitReader(plain, maxUnpacked)); errors.Is(err, secret.ErrFound) {
		return err
	}
	return nil
}
