package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// assembly is the raw tree under construction.
type assembly struct {
	env *step.Env
	b   *tree.Builder
	// unpacked are the archives among the raw data that become folders.
	unpacked []string
	// done holds the journals of unpacking. If this process dies before the tree is
	// built, another one can continue with them.
	done []leftover
}

// leftover is a journal of unpacking that is to be dropped or kept.
type leftover interface {
	Drop() error
	io.Closer
}

// finish drops the journals of unpacking.
func (a *assembly) finish() error {
	var errs []error
	for _, left := range a.done {
		errs = append(errs, left.Drop())
	}
	a.done = nil
	return errors.Join(errs...)
}

// place adds fetched data to the tree: a file under its name, or the content of an
// archive or folder.
func (a *assembly) place(ctx context.Context, it item, data source.Data) error {
	switch {
	case data.Ref.Kind == cache.Tree && it.as != "":
		return a.b.Add(it.as, data.Ref, false)
	case data.Ref.Kind == cache.Tree:
		return a.graft(ctx, "", data.Ref)
	case it.as != "":
		return a.keep(ctx, it.as, data)
	}
	u, end, err := a.unpack(ctx, a.b, data.Name, data, a.nested)
	switch {
	case err != nil:
		return err
	case u == nil:
		data.File = end
		return a.keep(ctx, data.Name, data)
	}
	a.done = append(a.done, u, end)
	return nil
}

// nested selects the archives inside an archive that become folders.
func (a *assembly) nested(name string) bool { return slices.Contains(a.unpacked, name) }

// keep adds a file unchanged.
func (a *assembly) keep(ctx context.Context, name string, data source.Data) error {
	if data.File != nil {
		if err := data.File.Publish(ctx); err != nil {
			return fmt.Errorf("store %s: %w", name, err)
		}
	}
	return a.b.Add(name, data.Ref, false)
}

// unpack unpacks an archive into a builder. The result is nil if the content is not an
// archive. The caller ends the content.
func (a *assembly) unpack(ctx context.Context, b *tree.Builder, name string, data source.Data, nested func(string) bool) (
	u *archive.Unpacked, end source.Fetched, err error) {
	src, end, err := a.open(ctx, data)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", name, err)
	}
	format, err := archive.FormatIn(src, name)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read %s: %w", name, err), end.Close())
	}
	if format == "" {
		return nil, end, nil
	}
	u, err = archive.Into(ctx, a.env.Store, src, b, archive.IntoOptions{
		Format: format,
		Limits: archive.DefaultLimits(), Key: data.Ref.ID.String(), Nested: nested,
		Progress: func(p archive.Progress) {
			a.env.Progress(step.Progress{What: "unpacking", Done: p.Files, Total: p.Total, Unit: "files", Bytes: p.Bytes, TotalBytes: p.TotalBytes})
		},
		Resumed: func(entries int64) {
			fmt.Fprintf(a.env.Log, "continuing after %d entries that were already unpacked\n", entries)
		},
	})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("unpack %s: %w", name, err), end.Close())
	}
	return u, end, nil
}

// graft adds a folder's tree, with its archives unpacked in place.
func (a *assembly) graft(ctx context.Context, folder string, ref cache.Ref) error {
	entries, err := tree.Read(ctx, a.env.Store, ref)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := folder + e.Name
		switch {
		case e.IsDir() && a.holdsArchive(name):
			if err = a.b.AddDir(name); err == nil {
				err = a.graft(ctx, name+"/", e.Ref())
			}
		case !e.IsDir() && a.nested(name):
			err = a.graftArchive(ctx, name, e)
		default:
			err = a.b.Add(name, e.Ref(), e.Type == tree.Executable)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdsArchive reports whether a folder contains an archive to be unpacked.
func (a *assembly) holdsArchive(folder string) bool {
	return slices.ContainsFunc(a.unpacked, func(name string) bool { return strings.HasPrefix(name, folder+"/") })
}

// graftArchive adds an archive in a folder as a folder of its entries.
func (a *assembly) graftArchive(ctx context.Context, name string, e tree.Entry) error {
	inner := tree.NewBuilder(a.env.Store)
	u, end, err := a.unpack(ctx, inner, name, source.Data{Ref: e.Ref()}, nil)
	if err != nil {
		return err
	}
	defer end.Close()
	if u == nil {
		return a.b.Add(name, e.Ref(), e.Type == tree.Executable)
	}
	ref, err := inner.Build(ctx, a.env.Store)
	if err = errors.Join(err, u.Drop()); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	return a.b.Add(name, ref, false)
}

// open makes fetched data readable at any offset, in place or in the store.
func (a *assembly) open(ctx context.Context, data source.Data) (archive.Source, source.Fetched, error) {
	if data.File != nil {
		return archive.Source{ReaderAt: data.File, Size: data.Ref.Size}, data.File, nil
	}
	r, err := a.env.Store.OpenAt(ctx, data.Ref.ID)
	if err != nil {
		return archive.Source{}, nil, err
	}
	return archive.Source{ReaderAt: r, Size: data.Ref.Size}, object{r, r}, nil
}

// object implements source.Fetched for an object of the store.
type object struct {
	io.ReaderAt
	io.Closer
}

// Publish implements source.Fetched.
func (o object) Publish(context.Context) error { return o.Close() }

// Drop implements source.Fetched.
func (o object) Drop() error { return o.Close() }
