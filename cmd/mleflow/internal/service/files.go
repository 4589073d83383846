package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
)

const (
	// keptFor is how long a content is kept that no new submission names.
	keptFor = 7 * 24 * time.Hour
	// maxFile and maxFolder are the most bytes of a file and of a submission.
	maxFile, maxFolder = 4 << 30, 16 << 30
)

// contents is the folder with what an owner sent. Its name does not depend on which
// characters a name may have.
func (s *Service) contents(owner string) string {
	return filepath.Join(s.dir, "files", digest.Of([]byte(owner)).String())
}

// Missing returns those digests of which owner has not sent the content. Content that only
// others sent, or that the cache has, is missing: to know a digest gives no right to a file.
func (s *Service) Missing(_ context.Context, owner string, digests []string) (missing []string, err error) {
	for _, d := range digests {
		id, err := digest.ParseContentID(d)
		if err != nil {
			return nil, fmt.Errorf("%w: digest %.80q: %w", ErrInvalid, d, err)
		}
		if _, err := s.content(owner, id); err != nil {
			missing = append(missing, d)
		}
	}
	return missing, nil
}

// content returns the file with a content of owner, which then is kept for a while.
func (s *Service) content(owner string, id digest.ContentID) (string, error) {
	path := filepath.Join(s.contents(owner), id.String())
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = nolink.ErrForeign
	}
	if err == nil {
		err = os.Chtimes(path, time.Time{}, time.Now())
	}
	return path, err
}

// Put takes a content of owner. It refuses one of another digest.
func (s *Service) Put(_ context.Context, owner, want string, r io.Reader) (err error) {
	id, err := digest.ParseContentID(want)
	if err != nil {
		return fmt.Errorf("%w: digest %.80q: %w", ErrInvalid, want, err)
	}
	dir := s.contents(owner)
	if err := nolink.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := nolink.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	got, size, err := digest.Copy(f, io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("take file: %w", err)
	case size > maxFile:
		return fmt.Errorf("%w: a file has more than 4 GiB", ErrInvalid)
	case got != id:
		return fmt.Errorf("%w: the content has the digest %s, not %s", ErrInvalid, got, id)
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, id.String())); err != nil {
		return err
	}
	return errors.Join(f.Close(), nolink.SyncDir(dir))
}

// place puts the files of a manifest into a new folder. Files that can be executed are
// copied, since others of the same content cannot be.
func (s *Service) place(owner string, m Manifest, dir string) error {
	for _, f := range m.Files {
		id, err := digest.ParseContentID(f.Digest)
		if err != nil {
			return err
		}
		from, err := s.content(owner, id)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s (%s); submit the pipeline again", ErrMissing, f.Path, f.Digest)
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if !f.Executable && os.Link(from, to) == nil {
			continue
		}
		mode := fs.FileMode(0o600)
		if f.Executable {
			mode = 0o700
		}
		if err := copyFile(from, to, mode); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := nolink.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// sweep removes contents that nobody named for long, and what broken transfers left.
func (s *Service) sweep() error {
	return filepath.WalkDir(filepath.Join(s.dir, "files"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && time.Since(info.ModTime()) > keptFor {
			err = os.Remove(path)
		}
		return err
	})
}

// clear removes the files of a submission that has ended. Its record and output stay.
func (s *Service) clear(id string) error {
	return errors.Join(os.RemoveAll(s.queue(id, submitted.FolderName)), os.RemoveAll(s.queue(id, homeName)), os.RemoveAll(s.queue(id, submitted.RulesName)))
}
