package harbor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

func writeScript(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if filepath.Ext(path) == ".sh" {
		mode = 0o755
	}
	return os.WriteFile(path, []byte(text), mode) //nolint:gosec // scripts are to be run
}

// link is from where a file or folder is linked, and to where.
type link struct {
	from, to string
	size     int64
}

// linkTrees links files and folders, or copies them across file systems.
func linkTrees(what string, work *progress.Work, trees ...link) error {
	var files []link
	var bytes int64
	for _, t := range trees {
		err := filepath.WalkDir(t.from, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(t.from, path)
			files = append(files, link{path, filepath.Join(t.to, rel), info.Size()})
			bytes += info.Size()
			return err
		})
		if err != nil {
			return err
		}
	}
	work.Begin(what, int64(len(files)), bytes)
	for _, f := range files {
		if err := linkFile(f.from, f.to); err != nil {
			return err
		}
		work.Add(1, f.size)
	}
	return nil
}

func linkFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
