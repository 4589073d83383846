package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// Reference takes a competition's data from its folder (Spec.Path) in the data
// directory of the MLE-bench reference:
//
//	DIR/<id>/<id>.zip            the archive as it was downloaded
//	DIR/<id>/raw                 the archive unpacked
//	DIR/<id>/prepared/public     what the reference made of it
//	DIR/<id>/prepared/private
//
// The archive is taken if it is there: it is what a pin can prove. Without it
// the folder raw is, and without that the prepared folders, as a tree with the
// one entry "prepared". Files are read once and never changed. What is taken
// decides the key: with the archive it is that of a download with the same
// pins, else that of the files.
type Reference struct{}

// PreparedFolder is the only entry of a tree that holds prepared data.
const PreparedFolder = "prepared"

// shape is the part of a competition's folder that is taken.
type shape int

const (
	archived shape = iota
	unpacked
	prepared
)

// Check implements Source.
func (Reference) Check(spec Spec) error {
	if spec.Path == "" {
		return errors.New("a reference source needs a path: the competition's folder in the reference's data directory")
	}
	return nil
}

// look finds what can be taken.
func (Reference) look(spec Spec) (shape, string, error) {
	zips, _ := fs.Glob(os.DirFS(spec.Path), "*.zip") // a folder that is missing has none
	if len(zips) == 1 {
		return archived, filepath.Join(spec.Path, zips[0]), nil
	}
	if own := filepath.Join(spec.Path, filepath.Base(spec.Path)+".zip"); len(zips) > 1 && isFile(own) {
		return archived, own, nil
	}
	if raw := filepath.Join(spec.Path, "raw"); filled(raw) {
		return unpacked, raw, nil
	}
	dir := filepath.Join(spec.Path, PreparedFolder)
	if filled(filepath.Join(dir, "public")) && filled(filepath.Join(dir, "private")) {
		return prepared, dir, nil
	}
	return 0, "", fmt.Errorf("%s has no archive, no raw and no prepared data: %w", spec.Path, fs.ErrNotExist)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// filled reports whether a folder is not empty.
func filled(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// IsReference reports whether a folder is a competition's folder in the
// reference's data directory.
func IsReference(dir string) bool {
	for _, sub := range []string{"raw", PreparedFolder} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err == nil && info.IsDir() && IsAdoptable(dir) {
			return true
		}
	}
	return false
}

// Taken returns the path of what Fetch takes, or "".
func (r Reference) Taken(spec Spec) string {
	_, path, err := r.look(spec)
	if err != nil {
		return ""
	}
	return path
}

// IsAdoptable reports whether Reference can take something from a folder.
func IsAdoptable(dir string) bool {
	_, _, err := (Reference{}).look(Spec{Path: dir})
	return err == nil
}

// Fingerprint implements Source.
func (r Reference) Fingerprint(spec Spec, h *digest.Hasher) error {
	kind, path, err := r.look(spec)
	if err != nil {
		return fmt.Errorf("look at reference: %w", err)
	}
	switch kind {
	case archived:
		return file{}.Fingerprint(Spec{Path: path, MD5: spec.MD5, SHA256: spec.SHA256}, h)
	case prepared:
		h.String("source reference", PreparedFolder)
	}
	return file{}.Fingerprint(Spec{Path: path}, h)
}

// Fetch implements Source.
func (r Reference) Fetch(ctx context.Context, req Request) (Data, error) {
	kind, path, err := r.look(req.Spec)
	if err != nil {
		return Data{}, fmt.Errorf("adopt: %w", err)
	}
	req.logf("adopting %s", path)
	from := req
	from.Spec.Base, from.Spec.Path = nil, path
	switch kind {
	case archived:
		data, err := file{}.Fetch(ctx, from)
		if errors.Is(err, ErrMismatch) {
			err = fmt.Errorf("%w; the folders next to it were made from it: fetch the data again, or move the archive away to accept %s without proof",
				err, filepath.Join(req.Spec.Path, "raw"))
		}
		return data, err
	case unpacked:
		from.Spec.MD5, from.Spec.SHA256 = "", ""
		return file{}.Fetch(ctx, from)
	}
	return adoptPrepared(ctx, req, path)
}

// adoptPrepared stores the prepared folders.
func adoptPrepared(ctx context.Context, req Request, dir string) (Data, error) {
	var b tree.Builder
	var files, bytes int64
	for _, name := range []string{"private", "public"} {
		ref, err := tree.Import(ctx, req.Store, filepath.Join(dir, name), tree.ImportOptions{
			Progress: func(f, n int64) { req.imported(files+f, 0, bytes+n) },
		})
		files, bytes = files+ref.Files, bytes+ref.Size
		if err == nil {
			err = b.Add(PreparedFolder+"/"+name, ref, false)
		}
		if err != nil {
			return Data{}, fmt.Errorf("adopt %s: %w", dir, err)
		}
	}
	ref, err := b.Build(ctx, req.Store)
	if err != nil {
		return Data{}, fmt.Errorf("adopt %s: %w", dir, err)
	}
	req.imported(files, files, bytes)
	return Data{Name: PreparedFolder, Ref: ref}, nil
}

// Inspect implements Inspector.
func (r Reference) Inspect(_ context.Context, spec Spec) (Availability, error) {
	kind, path, err := r.look(spec)
	if err != nil {
		return Availability{}, fmt.Errorf("%w: %w", err, ErrGone)
	}
	switch kind {
	case archived:
		a, err := inspectFile(path)
		a.Note = "archive of the reference"
		if spec.MD5 == "" && spec.SHA256 == "" {
			a.Note += ", without a pin"
		}
		return a, err
	case unpacked:
		return Availability{Note: "raw folder of the reference, without a pin"}, nil
	}
	return Availability{Note: "prepared by the reference; only pinned files can be checked"}, nil
}

// inspectFile returns the size of a file.
func inspectFile(path string) (Availability, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Availability{}, fmt.Errorf("%w: %w", err, ErrGone)
	}
	if info.IsDir() {
		return Availability{}, nil
	}
	return Availability{Bytes: info.Size()}, nil
}
