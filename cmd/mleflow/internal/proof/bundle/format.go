package bundle

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// The media types in a bundle.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	contentsType = "application/vnd.mleflow.bundle.contents.v1+json"
	fileType     = "application/vnd.mleflow.bundle.file.v1"
	// bundleType is the media type of a bundle in registries.
	bundleType = "application/vnd.mleflow.bundle.v1"
)

// titleKey is the annotation that holds a file's path.
const titleKey = "org.opencontainers.image.title"

// refKey is the annotation that names the manifest.
const refKey = "org.opencontainers.image.ref.name"

// The limits of reading. They bound the memory that a hostile file costs.
const (
	maxEntries  = 200_000
	maxBlob     = 1<<33 - 1 // what the size field of a tar header holds
	maxManifest = 96 << 20
	maxIndex    = 4 << 10
	// maxFile is the greatest of the files that mleflow wrote itself.
	maxFile = 256 << 20
)

// layoutText is the whole file oci-layout.
const layoutText = `{"imageLayoutVersion":"1.0.0"}` + "\n"

// descriptor names a blob, in the words of OCI.
type descriptor struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	ArtifactType  string       `json:"artifactType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// contents is the list of files but those that attest it.
type contents struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
	Files  []File `json:"files"`
}

// formatVersion is the version that this package writes and reads. Version 1 had locks
// and records of another form.
const formatVersion = 2

// File is a file of a bundle.
type File struct {
	Path   string           `json:"path"`
	Digest digest.ContentID `json:"sha256"`
	Size   int64            `json:"size"`
}

// attestations are the media types of the files that speak about the list of contents, and
// so cannot be in it.
var attestations = map[string]string{statementFile: statementType, envelopeFile: envelopeType}

// sealed is a bundle's frame, which follows from the list of its files.
type sealed struct {
	index, manifest, contents []byte
}

// seal makes the frame of the given files, sorted by path.
func seal(run string, files []File) (sealed, error) {
	var s sealed
	var err error
	list := contents{Format: formatVersion, Run: run, Files: []File{}}
	m := manifest{SchemaVersion: 2, MediaType: manifestType, ArtifactType: bundleType, Layers: []descriptor{}}
	for _, f := range files {
		kind, attests := attestations[f.Path]
		if !attests {
			kind, list.Files = fileType, append(list.Files, f)
		}
		m.Layers = append(m.Layers, descriptor{MediaType: kind, Digest: "sha256:" + f.Digest.String(), Size: f.Size, Annotations: map[string]string{titleKey: f.Path}})
	}
	if s.contents, err = document(list); err != nil {
		return s, err
	}
	m.Config = descriptor{MediaType: contentsType, Digest: "sha256:" + digest.Of(s.contents).String(), Size: int64(len(s.contents))}
	if s.manifest, err = document(m); err != nil {
		return s, err
	}
	s.index, err = document(index{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{{
		MediaType: manifestType, ArtifactType: bundleType, Digest: "sha256:" + digest.Of(s.manifest).String(), Size: int64(len(s.manifest)),
		Annotations: map[string]string{refKey: run},
	}}})
	return s, err
}

// document is the one form of a value in JSON, for people to read.
func document(v any) ([]byte, error) { return encode(v, " ") }

// oneLine is the one form of a value in JSON on a line of its own.
func oneLine(v any) ([]byte, error) { return encode(v, "") }

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return b.Bytes(), nil
}

// parse reads a document whose form is checked otherwise.
func parse(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("mleflow would write it differently: %w", err)
	}
	return nil
}

// parseForm reads a document of which only the form that write gives it is accepted.
func parseForm(text []byte, into any, write func(any) ([]byte, error)) error {
	if err := parse(text, into); err != nil {
		return err
	}
	again, err := write(into)
	if err == nil && !bytes.Equal(again, text) {
		err = errors.New("mleflow would write it differently")
	}
	return err
}

// parseDigest reads "sha256:" and a digest.
func parseDigest(text string) (digest.ContentID, error) {
	hex, ok := strings.CutPrefix(text, "sha256:")
	if !ok {
		return digest.ContentID{}, fmt.Errorf("%q is not a SHA-256 digest", text)
	}
	return digest.ParseContentID(hex)
}

// checkPath refuses a path that is not one of a file below a folder.
func checkPath(path string) error {
	if path == "" || len(path) > 2*maxLoosePaths || path != escapeBytes(path) {
		return fmt.Errorf("%.80q is not a path in a bundle", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%.80q is not a path in a bundle", path)
		}
	}
	return nil
}

// text is the content of a file in memory.
func text(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

// readmeText is README.md of a bundle.
//
//go:embed readme.md
var readmeText string
