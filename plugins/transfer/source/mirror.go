package source

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Objects reads the objects below one URL of an object storage.
type Objects interface {
	// Size returns the length of an object; a missing one is fs.ErrNotExist.
	Size(ctx context.Context, name string) (int64, error)
	// Read opens an object at an offset.
	Read(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	io.Closer
}

// OpenObjects opens a URL such as s3://bucket/folder. Credentials come from the
// storage's usual places.
type OpenObjects func(ctx context.Context, base string) (Objects, error)

// mirror reads <slug>.zip, or the file Spec.Name, below a base URL (Spec.URL):
// a folder, a web address, or object storage. If there is a file SHA256SUMS
// next to the archives, in the format of sha256sum, it must match. Pins must
// match in any case. An archive with neither is accepted without proof.
type mirror struct {
	web Source
	// open may be nil; object storage is then not supported.
	open OpenObjects
}

// NoteMirror is the note for data that a mirror has, so that their origin need
// not be asked.
const NoteMirror = "on the mirror"

// sumsName is the name of a mirror's list of checksums.
const sumsName = "SHA256SUMS"

// scheme returns the scheme of a URL, "" for a folder.
func scheme(base string) string {
	s, _, ok := strings.Cut(base, "://")
	if !ok || s == "file" {
		return ""
	}
	return s
}

// file is the path below a mirror's URL.
func (s Spec) file() string { return cmp.Or(s.Name, s.Slug+".zip") }

// Check implements Source.
func (m *mirror) Check(spec Spec) error {
	switch {
	case spec.Name != "":
		if !fs.ValidPath(spec.Name) {
			return fmt.Errorf("%q is not a relative path below the mirror", spec.Name)
		}
	case spec.Slug == "" || strings.ContainsAny(spec.Slug, `/\`):
		return errors.New("a mirror source needs a slug, the name of its archive without .zip")
	}
	if spec.URL == "" {
		return errors.New("a mirror source needs a url: a folder, or an address that begins with https:// or s3://")
	}
	switch s := scheme(spec.URL); s {
	case "", "http", "https":
		return nil
	default:
		if m.open == nil {
			return fmt.Errorf("mirror %s: %s is not supported", Redact(spec.URL), s)
		}
	}
	return nil
}

// Fingerprint implements Source.
func (m *mirror) Fingerprint(spec Spec, h *digest.Hasher) error {
	if fingerprintPins(spec, h) {
		return nil
	}
	if scheme(spec.URL) == "" {
		src, at := m.place(spec, spec.file())
		return src.Fingerprint(at, h)
	}
	h.String("source mirror", Redact(address(spec.URL, spec.file())))
	return nil
}

// place returns the source of a file below the base, and its spec there.
func (m *mirror) place(spec Spec, name string) (Source, Spec) {
	switch scheme(spec.URL) {
	case "":
		return file{}, Spec{Path: filepath.Join(strings.TrimPrefix(spec.URL, "file://"), filepath.FromSlash(name))}
	case "http", "https":
		return m.web, Spec{URL: address(spec.URL, name)}
	}
	return storage{m}, Spec{URL: spec.URL, Name: name}
}

// address is the URL of a file below a base; parameters of the base are kept.
func address(base, name string) string {
	u, err := url.Parse(base)
	if err != nil {
		return strings.TrimSuffix(base, "/") + "/" + name
	}
	return u.JoinPath(name).String()
}

// Fetch implements Source.
func (m *mirror) Fetch(ctx context.Context, req Request) (Data, error) {
	spec := req.Spec
	src, at := m.place(spec, spec.file())
	at.MD5, at.SHA256 = spec.MD5, spec.SHA256
	if at.SHA256 == "" {
		sum, err := m.sum(ctx, spec, req.Store)
		if err != nil {
			return Data{}, fmt.Errorf("from mirror: %w", err)
		}
		at.SHA256 = sum
	}
	if req.Spec = at; !at.pinned() {
		req.logf("the mirror has no %s and there is no pin, so nothing proves that %s is unchanged", sumsName, spec.file())
	}
	data, err := src.Fetch(ctx, req)
	if err != nil {
		return Data{}, fmt.Errorf("from mirror: %w", err)
	}
	return data, nil
}

// maxSums is the largest size of a list of checksums.
const maxSums = 16 << 20

// sum returns the SHA-256 of the archive in the mirror's list, or "".
func (m *mirror) sum(ctx context.Context, spec Spec, store cache.Building) (string, error) {
	text, err := m.sums(ctx, spec, store)
	var page *pageError // a site that answers every request with its front page
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrGone) || errors.As(err, &page) && !page.login {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", sumsName, err)
	}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		name = strings.TrimPrefix(strings.TrimLeft(name, " *"), "./")
		if raw, err := hex.DecodeString(sum); ok && err == nil && len(raw) == 32 && name == spec.file() {
			return strings.ToLower(sum), nil
		}
	}
	return "", nil
}

// sums reads the list of checksums.
func (m *mirror) sums(ctx context.Context, spec Spec, store cache.Building) ([]byte, error) {
	src, at := m.place(spec, sumsName)
	data, err := src.Fetch(ctx, Request{Spec: at, Store: store})
	if err != nil {
		return nil, err
	}
	r, err := store.Open(ctx, data.Ref.ID)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxSums))
}

// storage is a mirror in an object storage, as the source of one file.
type storage struct{ *mirror }

// Fetch implements Source. It continues an interrupted fetch.
func (m storage) Fetch(ctx context.Context, req Request) (Data, error) {
	objects, err := m.open(ctx, req.Spec.URL)
	if err != nil {
		return Data{}, err
	}
	defer objects.Close()
	name := req.Spec.file()
	size, err := objects.Size(ctx, name)
	if err != nil {
		return Data{}, absentObject(name, err)
	}
	key := ""
	if req.Spec.pinned() { // without a pin, nothing proves that the rest belongs to the same version
		key = "mirror " + req.Spec.SHA256 + req.Spec.MD5
	}
	in, err := req.Store.Ingest(ctx, key)
	if err != nil {
		return Data{}, err
	}
	handed := false
	defer func() {
		if !handed {
			in.Close()
		}
	}()
	if in.Offset() > size {
		if err := in.Reset(); err != nil {
			return Data{}, err
		}
	}
	if err := readObject(ctx, objects, in, size, req); err != nil {
		return Data{}, err
	}
	data := Data{Name: name, Ref: cache.Ref{Kind: cache.Blob, Size: size}}
	if data.Ref.ID, data.MD5, err = hashBoth(ctx, io.NewSectionReader(in, 0, size)); err != nil {
		return Data{}, fmt.Errorf("hash %s: %w", name, err)
	}
	if err := verify(req.Spec, name, data); err != nil {
		return Data{}, errors.Join(err, in.Reset())
	}
	if req.Unpublished {
		data.File, handed = &ingested{in, data.Ref}, true
		return data, nil
	}
	_, err = in.Commit(ctx, data.Ref)
	return data, err
}

// readObject appends the rest of an object to an ingest.
func readObject(ctx context.Context, objects Objects, in cache.Ingest, size int64, req Request) error {
	name := req.Spec.file()
	req.progress(in.Offset(), size)
	if in.Offset() == size {
		return nil
	}
	r, err := objects.Read(ctx, name, in.Offset())
	if err != nil {
		return absentObject(name, err)
	}
	defer r.Close()
	start := in.Offset()
	if _, err := cache.Copy(ctx, in, &counter{r: r, tell: func(n int64) { req.progress(start+n, size) }}); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &TemporaryError{Err: fmt.Errorf("read %s: %w", name, err)}
	}
	if in.Offset() != size {
		return &TemporaryError{Err: fmt.Errorf("read %s: got %d of %d bytes", name, in.Offset(), size)}
	}
	return nil
}

// absentObject distinguishes a missing object from a storage that cannot be
// reached.
func absentObject(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, ErrGone)
	}
	return &TemporaryError{Err: fmt.Errorf("look at %s: %w", name, err)}
}

// Inspect implements Inspector.
func (m storage) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	objects, err := m.open(ctx, spec.URL)
	if err != nil {
		return Availability{}, err
	}
	defer objects.Close()
	size, err := objects.Size(ctx, spec.Name)
	if err != nil {
		return Availability{}, absentObject(spec.Name, err)
	}
	return Availability{Bytes: size}, nil
}

// Inspect implements Inspector.
func (m *mirror) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	src, at := m.place(spec, spec.file())
	if at.Path != "" {
		return inspectFile(at.Path)
	}
	return inspect(ctx, src, at)
}

// mirrored is a source with a mirror in front of it. What the mirror does not
// have, cannot deliver or has wrong is fetched from its origin, and the log
// says why. Keys do not change.
type mirrored struct {
	Source // the origin
	mirror *mirror
	base   string
}

// at is the spec for the mirror. Its slug is the competition's, or the name of
// the zip file in a URL. Without either, the mirror cannot have it.
func (m *mirrored) at(spec Spec) (at Spec, ok bool) {
	at = Spec{URL: m.base, Slug: spec.Slug, MD5: spec.MD5, SHA256: spec.SHA256}
	if spec.Slug != "" {
		return at, true
	}
	u, err := url.Parse(spec.URL)
	if err != nil {
		return at, false
	}
	at.Slug, ok = strings.CutSuffix(path.Base(u.Path), ".zip")
	return at, ok && at.Slug != ""
}

// Check implements Source.
func (m *mirrored) Check(spec Spec) error {
	if err := m.Source.Check(spec); err != nil {
		return err
	}
	if at, ok := m.at(spec); ok {
		return m.mirror.Check(at)
	}
	return nil
}

// Fetch implements Source.
func (m *mirrored) Fetch(ctx context.Context, req Request) (Data, error) {
	from, ok := req, false
	if from.Spec, ok = m.at(req.Spec); !ok {
		return m.Source.Fetch(ctx, req)
	}
	data, err := m.mirror.Fetch(ctx, from)
	if err == nil || ctx.Err() != nil {
		return data, err
	}
	if errors.Is(err, ErrGone) || errors.Is(err, fs.ErrNotExist) {
		req.logf("the mirror has no %s.zip; fetching it from its origin", from.Spec.Slug)
	} else {
		req.logf("warning: %v; fetching it from its origin", err)
	}
	data, next := m.Source.Fetch(ctx, req)
	if errors.Is(next, ErrOffline) {
		next = fmt.Errorf("%w; %w", err, next)
	}
	return data, next
}

// Inspect implements Inspector.
func (m *mirrored) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	at, has := m.at(spec)
	var a Availability
	var err error
	if has {
		if a, err = m.mirror.Inspect(ctx, at); err == nil {
			a.Note = cmp.Or(a.Note, NoteMirror)
			return a, nil
		}
	}
	a, next := inspect(ctx, m.Source, spec)
	if has && errors.Is(next, ErrOffline) {
		next = fmt.Errorf("%w; %w", err, next)
	}
	return a, next
}
