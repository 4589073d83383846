package tree

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Compare reads the folder dir and describes the first difference from the tree
// that ref names: a file with different content, a missing one, or an
// additional one. It returns "" if there is none. Apart from the executable
// bit, modes do not matter. An error is one of the store or of ctx; a file in
// the folder that cannot be read is a difference.
func Compare(ctx context.Context, store cache.Store, ref cache.Ref, dir string) (string, error) {
	return compareDir(ctx, store, ref, dir, "")
}

func compareDir(ctx context.Context, store cache.Store, ref cache.Ref, root, path string) (string, error) {
	list, err := os.ReadDir(root + "/" + path)
	if err != nil {
		return fmt.Sprintf("%q cannot be read: %v", path, err), nil //nolint:nilerr // it is the difference
	}
	there := make(map[string]fs.DirEntry, len(list))
	for _, d := range list {
		there[d.Name()] = d
	}
	what := ""
	err = Each(ctx, store, ref, func(e Entry) error {
		found, ok := there[e.Name]
		delete(there, e.Name)
		var err error
		switch at := path + e.Name; {
		case what != "":
		case !ok:
			what = fmt.Sprintf("%q is missing", at)
		case e.IsDir() && found.IsDir():
			what, err = compareDir(ctx, store, e.Ref(), root, at+"/")
		case e.IsDir() != found.IsDir() || !sameFile(ctx, root+"/"+at, e):
			what, err = fmt.Sprintf("%q has different content", at), ctx.Err()
		}
		return err
	})
	if what == "" {
		for _, d := range list { // in the order of names
			if there[d.Name()] != nil {
				return fmt.Sprintf("%q was added", path+d.Name()), err
			}
		}
	}
	return what, err
}

// sameFile reports whether the file at path has the content and the executable bit
// of the entry.
func sameFile(ctx context.Context, path string, e Entry) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != e.Size || (info.Mode()&0o100 != 0) != (e.Type == Executable) {
		return false
	}
	hash := digest.NewWriter()
	// A file that grows meanwhile is not read beyond its expected size.
	n, err := cache.Copy(ctx, hash, io.LimitReader(f, e.Size+1))
	return err == nil && n == e.Size && hash.ID() == e.ID
}
