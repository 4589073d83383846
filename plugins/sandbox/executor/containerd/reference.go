package containerd

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// storePrefix is the beginning of the names under which the runtime imports
// archives and layouts; the digest follows.
const storePrefix = "mleflow.local/image@"

type imageKind int

const (
	archiveImage imageKind = iota
	layoutImage
	remoteImage
	localImage
)

// imageRef is what Spec.Image names.
type imageRef struct {
	kind imageKind
	// name is a path, or a name with its registry.
	name   string
	digest digest.Digest
}

// localPrefix names an image of containerd's own store.
const localPrefix = "local:"

// ErrUnpinned says that an image is named in a way that may mean something
// else tomorrow.
var ErrUnpinned = errors.New("the image is not pinned by its digest")

var pinned = regexp.MustCompile(`^(.+)@(sha256:[0-9a-f]{64})$`)

// parseImage reads an image's name: the path of an OCI archive or layout, which
// starts with "/" or "."; "local:NAME" or "local:NAME@DIGEST" for what is in
// containerd's store; or NAME@DIGEST for what a registry has.
func parseImage(name string) (imageRef, error) {
	if filepath.IsAbs(name) || strings.HasPrefix(name, ".") {
		info, err := os.Stat(name)
		if err != nil {
			return imageRef{}, fmt.Errorf("find image: %w", err)
		}
		if info.IsDir() {
			return imageRef{kind: layoutImage, name: name}, nil
		}
		return imageRef{kind: archiveImage, name: name}, nil
	}
	rest, isLocal := strings.CutPrefix(name, localPrefix)
	m := pinned.FindStringSubmatch(rest)
	switch {
	case isLocal && m != nil:
		return imageRef{kind: localImage, name: m[1], digest: digest.Digest(m[2])}, nil
	case isLocal && rest != "":
		return imageRef{kind: localImage, name: rest}, nil
	case m != nil:
		return imageRef{kind: remoteImage, name: withRegistry(m[1]) + "@" + m[2], digest: digest.Digest(m[2])}, nil
	}
	return imageRef{}, fmt.Errorf("image %q: %w: write NAME@sha256:… (skopeo inspect docker://NAME shows it), "+
		"the path of an OCI archive or layout (starting with / or ./), or local:NAME for one in containerd's store", name, ErrUnpinned)
}

// withRegistry adds what Docker leaves out of a name.
func withRegistry(name string) string {
	first, _, hasPath := strings.Cut(name, "/")
	switch {
	case !hasPath:
		return "docker.io/library/" + name
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return name
	}
	return "docker.io/" + name
}

// ResolveImage returns the digest of the image's manifest by the image's name
// and files alone. The error is ErrUnpinned for one that only the daemon can
// tell.
func ResolveImage(name string) (string, error) {
	ref, err := parseImage(name)
	if err != nil {
		return "", err
	}
	d, err := ref.resolve()
	if err != nil {
		return "", fmt.Errorf("image %q: %w", name, err)
	}
	return d.String(), nil
}

func (r imageRef) resolve() (digest.Digest, error) {
	if r.digest != "" {
		return r.digest, nil
	}
	var index []byte
	var err error
	switch r.kind {
	case localImage:
		return "", fmt.Errorf("%w: write %s%s@sha256:…", ErrUnpinned, localPrefix, r.name)
	case layoutImage:
		index, err = os.ReadFile(filepath.Join(r.name, ocispec.ImageIndexFile))
	case archiveImage:
		index, err = archiveIndex(r.name)
	}
	if err != nil {
		return "", err
	}
	return onlyManifest(index)
}

// storeName is the name in the daemon's store.
func (r imageRef) storeName() (string, error) {
	if r.kind == remoteImage || r.kind == localImage {
		return r.name, nil
	}
	d, err := r.resolve()
	return storePrefix + d.String(), err
}

// maxIndexBytes bounds what is read as an index.
const maxIndexBytes = 4 << 20

// archiveIndex reads index.json of an archive, skipping over the rest.
func archiveIndex(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := tar.NewReader(f)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no index.json in it: it is no OCI archive (skopeo copy docker-archive:FILE oci-archive:FILE2 converts one of Docker's)")
		}
		if err != nil {
			return nil, fmt.Errorf("read OCI archive: %w", err)
		}
		if strings.TrimPrefix(h.Name, "./") == ocispec.ImageIndexFile {
			return io.ReadAll(io.LimitReader(in, maxIndexBytes))
		}
	}
}

func onlyManifest(index []byte) (digest.Digest, error) {
	var idx ocispec.Index
	if err := json.Unmarshal(index, &idx); err != nil {
		return "", fmt.Errorf("read index.json: %w", err)
	}
	if len(idx.Manifests) != 1 {
		return "", fmt.Errorf("it holds %d images; it must hold one", len(idx.Manifests))
	}
	d := idx.Manifests[0].Digest
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("read index.json: digest %q: %w", d, err)
	}
	return d, nil
}
