package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// sampleFile is a copy of the sample submission that the agent does not see. The agent
// may change its own copy.
const sampleFile = "sample.csv"

// rowsFile is a copy of the sketch, which the agent does not see either.
const rowsFile = "sketch.csv"

// maxSample limits the size of a sample submission.
const maxSample = 4 << 30

var errNoSample = errors.New("the data contains none")

// placeSample copies the public sample submission to where the check reads it. The
// definition names it. If the definition names only a private one, it is the file or
// archive in the data whose name is that of a sample submission.
func (g *gates) placeSample(ctx context.Context) error {
	dst := filepath.Join(g.dirs.host, sampleFile)
	if _, err := os.Stat(dst); err == nil {
		return nil
	}
	name, entry, err := g.findSample(ctx)
	if err != nil {
		return err
	}
	file := filepath.Join(g.dirs.host, "sample-"+filepath.Base(name))
	if _, err := tree.Materialise(ctx, g.env.Store, entry.Ref(), file, tree.Options{Mode: tree.Copy}); err != nil {
		return err
	}
	if strings.EqualFold(filepath.Ext(name), ".csv") {
		return os.Rename(file, dst)
	}
	return unpackSample(ctx, file, dst)
}

// findSample returns the sample among the public data.
func (g *gates) findSample(ctx context.Context) (string, tree.Entry, error) {
	if name, ok := strings.CutPrefix(g.def.Layout.Sample, "public/"); ok {
		entry, err := tree.Find(ctx, g.env.Store, g.args.Data.Ref, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name, entry, err
		}
	}
	entries, err := tree.Read(ctx, g.env.Store, g.args.Data.Ref)
	if err != nil {
		return "", tree.Entry{}, err
	}
	i := slices.IndexFunc(entries, func(e tree.Entry) bool { return !e.IsDir() && sampleLike(e.Name) })
	if i < 0 {
		return "", tree.Entry{}, errNoSample
	}
	return entries[i].Name, entries[i], nil
}

// sampleLike reports whether a file has the name of a sample submission.
func sampleLike(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	return strings.Contains(plain, "samplesubmission") && (strings.HasSuffix(plain, ".csv") || archive.FormatOf(name) != "")
}

// unpackSample extracts the only table from an archive.
func unpackSample(ctx context.Context, file, dst string) error {
	found, err := archive.FirstCSV(ctx, file, func(name string, r io.Reader) error {
		out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer out.Close()
		if n, err := io.Copy(out, io.LimitReader(r, maxSample+1)); err != nil || n > maxSample {
			return errors.Join(err, fmt.Errorf("unpack %s: too large or damaged", name))
		}
		return out.Close()
	})
	if err == nil && !found {
		err = errNoSample
	}
	return err
}
