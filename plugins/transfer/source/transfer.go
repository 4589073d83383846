package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/mleflow/mleflow/cache/digest"
)

// transfer fetches one file from its origin into the store.
//
// First it asks the server what there is. If the server supports ranges, and
// something will prove in the end that the parts are of one version (a strong
// ETag or date, the server's MD5, or a pin), several connections fetch parts
// into memory and one writer takes them in order, so that the progress of a
// download can be read from its ingest alone. Otherwise the file is fetched in
// one piece, and from scratch after a failure.
type transfer struct {
	retrier
	origin  *origin
	req     Request
	address string // for people
	// version is the version that is being fetched.
	version version
	// whole says to fetch in one piece because the parts did not fit together.
	whole bool
	// unconditional says that the server refuses conditional requests for its own
	// version.
	unconditional bool
	// begun is the key of the previous version, which has changed.
	begun string
	logMu sync.Mutex
}

func newTransfer(s settings, o *origin, req Request, address string) *transfer {
	t := &transfer{origin: o, req: req, address: address}
	t.retrier = retrier{settings: s, logf: t.logs, waiting: req.waiting}
	return t
}

// logs logs one line at a time.
func (t *transfer) logs(format string, args ...any) {
	t.logMu.Lock()
	defer t.logMu.Unlock()
	t.req.logf("%s", t.origin.mask().Mask(fmt.Sprintf(format, args...)))
}

// mostVersions is how often a file may change during its download.
const mostVersions = 5

// run fetches the file. A file that changes is fetched again from scratch.
func (t *transfer) run(ctx context.Context) (Data, error) {
	var data Data
	var err error
	for range mostVersions {
		data, err = t.attempt(ctx)
		switch {
		case errors.Is(err, errChanged):
			t.logs("%s: %v; starting again", t.address, err)
		case errors.Is(err, ErrMismatch) && t.mixed(err):
			// If the version has no name, only the bytes of one answer certainly belong
			// together.
			t.whole = t.version.id() == ""
			t.logs("%v; fetching it again", err)
		default:
			return data, err
		}
	}
	return Data{}, &TemporaryError{Err: fmt.Errorf("%w, at attempt %d", err, mostVersions)}
}

// mixed reports whether a mismatch may be caused by the transfer: the server
// itself reports other bytes, or parts arrived that it did not promise to
// belong together.
func (t *transfer) mixed(err error) bool {
	var wrong *mismatchError
	if !errors.As(err, &wrong) {
		return false
	}
	if t.version.md5 != "" {
		return wrong.md5 != t.version.md5
	}
	return wrong.parts && !t.version.strong()
}

// attempt fetches one version.
func (t *transfer) attempt(ctx context.Context) (Data, error) {
	before := t.version.id()
	first, err := t.ask(ctx)
	if err != nil {
		return Data{}, err
	}
	defer func() { first.close() }()
	t.unconditional = t.unconditional || before != "" && before == t.version.id()
	if err := t.dropBegun(ctx, before); err != nil {
		return Data{}, err
	}
	if err := t.foresee(); err != nil {
		return Data{}, err
	}
	s, err := openSink(ctx, t.req.Store, t.key())
	if err != nil {
		return Data{}, err
	}
	if s.offset() > 0 {
		t.logs("continuing with %s at byte %d", t.address, s.offset())
	}
	parts := s.offset() > 0 || t.parallel()
	if err := t.fill(ctx, s, first); err != nil {
		return Data{}, errors.Join(err, s.in.Close())
	}
	return t.finish(ctx, s, parts)
}

// dropBegun deletes what was fetched of another version, given its id.
func (t *transfer) dropBegun(ctx context.Context, id string) error {
	key := t.begun
	t.begun = t.key()
	if key == "" || id != "" && id == t.version.id() {
		return nil
	}
	in, err := t.req.Store.Ingest(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(in.Reset(), in.Close())
}

// foresee fails before the first byte if the server announces data that will
// not match.
func (t *transfer) foresee() error {
	if pin, md5 := t.req.Spec.MD5, t.version.md5; pin != "" && md5 != "" && pin != md5 {
		return fmt.Errorf("%w: the server reports MD5 %s, expected %s (%d bytes)", ErrMismatch, md5, pin, t.version.total)
	}
	return nil
}

// key is the key of the unfinished file for later attempts; "" means that it
// cannot be continued.
func (t *transfer) key() string {
	h := digest.NewHasher("http source", "2")
	h.String("url", t.origin.url)
	id := t.version.id()
	switch {
	case t.whole:
		return ""
	case id != "":
		h.String("version", id)
	case t.req.Spec.pinned():
		h.String("pins", t.req.Spec.SHA256+" "+t.req.Spec.MD5)
	default:
		return ""
	}
	return "http-" + h.Sum().String()
}

// parallel reports whether the file can be fetched in parts.
func (t *transfer) parallel() bool {
	return t.version.ranges && t.version.total >= 0 && t.key() != ""
}

// ask learns the version of the file by requesting the first byte. If the server does
// not support ranges, it returns the answer, which has the whole file;
// otherwise nil.
func (t *transfer) ask(ctx context.Context) (a *answer, err error) {
	header := http.Header{}
	if !t.whole {
		header.Set("Range", "bytes=0-0")
	}
	err = t.retry(ctx, func() (bool, error) {
		a, err = t.askOnce(ctx, header)
		if err == nil && t.vague(a) {
			// This answer may be missing headers that others have.
			a.close()
			a, err = t.askOnce(ctx, header)
		}
		return false, err
	})
	return a, err
}

// vague reports whether an answer does not identify the file: a part of an
// unknown version, or a whole file of unknown length.
func (t *transfer) vague(a *answer) bool {
	if t.whole || t.key() != "" {
		return false
	}
	return a == nil || t.version.total < 0
}

func (t *transfer) askOnce(ctx context.Context, header http.Header) (*answer, error) {
	a, err := t.open(ctx, header)
	if err != nil {
		return nil, err
	}
	switch a.StatusCode {
	case http.StatusOK:
		t.version = versionOf(a.Response)
		if err := cmp.Or(t.firstPage(ctx, a), encoded(a.Response)); err != nil {
			a.close()
			return nil, err
		}
		return a, nil
	case http.StatusPartialContent:
		defer a.close()
		v := versionOf(a.Response)
		if _, err := v.part(a.Response, 0, 1); err != nil {
			return nil, err
		}
		if err := a.fill(ctx, make([]byte, 1), func(int) {}); err != nil {
			return nil, err
		}
		t.version = v
		return nil, nil
	case http.StatusRequestedRangeNotSatisfiable:
		// The file is empty, so there is no first byte; request all of it.
		a.close()
		if header.Get("Range") != "" {
			return t.askOnce(ctx, http.Header{})
		}
	}
	defer a.close()
	return nil, t.origin.refusal(a.Response)
}

// fill fetches what the sink is missing.
func (t *transfer) fill(ctx context.Context, s *sink, first *answer) error {
	// A server that supported ranges once is asked for parts again.
	if !t.parallel() && (s.offset() == 0 || t.version.total < 0 || t.key() == "") {
		return t.fetchWhole(ctx, s, first)
	}
	if first != nil && s.offset() == 0 {
		// This is not what was requested, but as good until the connection breaks.
		err := t.copy(ctx, s, first)
		var temporary *TemporaryError
		if err == nil || !errors.As(err, &temporary) {
			return err
		}
		t.logs("%v; continuing in parts", err)
	}
	first.close()
	if s.offset() > t.version.total {
		if err := s.reset(); err != nil {
			return err
		}
	}
	err := t.fetchParts(ctx, s)
	if errors.Is(err, errWhole) {
		t.logs("%v; fetching it whole", err)
		return t.fetchWhole(ctx, s, nil)
	}
	return err
}

// fetchWhole fetches the file in one piece, using the first answer if there is
// one.
func (t *transfer) fetchWhole(ctx context.Context, s *sink, first *answer) error {
	return t.retry(ctx, func() (bool, error) {
		a := first
		if first = nil; a == nil {
			var err error
			if a, err = t.askWhole(ctx); err != nil {
				return false, err
			}
		}
		defer a.close()
		if err := s.reset(); err != nil {
			return false, err
		}
		return false, t.copy(ctx, s, a)
	})
}

// askWhole requests the file in one piece.
func (t *transfer) askWhole(ctx context.Context) (*answer, error) {
	a, err := t.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	w := versionOf(a.Response)
	if a.StatusCode != http.StatusOK {
		err = t.origin.refusal(a.Response)
	} else if err = encoded(a.Response); err == nil && (t.version.changed(w) || t.version.contradicts(w)) {
		err = errChanged
	}
	if err != nil {
		a.close()
		return nil, err
	}
	t.version.total = max(t.version.total, w.total)
	return a, nil
}

// piece is how many bytes are written at once.
const piece = 256 << 10

// copy writes a body of the whole file.
func (t *transfer) copy(ctx context.Context, s *sink, a *answer) error {
	if a.ContentLength < 0 && t.version.total < 0 && a.ProtoMajor == 1 && len(a.TransferEncoding) == 0 && !t.req.Spec.pinned() {
		return errors.New("the server neither gives the file's length nor marks its end, so it cannot be verified to be complete; pin it with sha256 or md5")
	}
	buf := make([]byte, piece)
	for {
		n, err := a.readFull(ctx, buf)
		if n > 0 {
			if err := s.write(buf[:n]); err != nil {
				return err
			}
			t.req.progress(s.offset(), max(t.version.total, 0))
		}
		if total := t.version.total; total >= 0 && (s.offset() > total || err == io.EOF && s.offset() != total) { //nolint:errorlint // see answer.read
			return &TemporaryError{Err: fmt.Errorf("got %d bytes of %d", s.offset(), total)}
		}
		if err == io.EOF { //nolint:errorlint // see answer.read
			return nil
		}
		if err != nil {
			return err
		}
	}
}
