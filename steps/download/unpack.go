package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/archive"
	"github.com/mleflow/mleflow/plugins/source"
)

// place adds what was fetched to the tree: a file under the name it is to
// have, else the content of an archive or folder.
func (it item) place(ctx context.Context, env *step.Env, data source.Data, b *tree.Builder) error {
	switch {
	case it.as != "":
		return b.Add(it.as, data.Ref, false)
	case data.Ref.Kind == cache.Tree:
		entries, err := tree.Read(ctx, env.Store, data.Ref)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := b.Add(e.Name, e.Ref(), e.Type == tree.Executable); err != nil {
				return err
			}
		}
		return nil
	}
	src, closer, err := openArchive(ctx, env, data.Ref)
	if err != nil {
		return fmt.Errorf("open %s: %w", data.Name, err)
	}
	defer closer.Close()
	format, err := formatOf(src, data.Name)
	if err != nil {
		return fmt.Errorf("read %s: %w", data.Name, err)
	}
	if format == "" {
		return b.Add(data.Name, data.Ref, false)
	}
	if err := unpack(ctx, env, src, format, b); err != nil {
		return fmt.Errorf("unpack %s: %w", data.Name, err)
	}
	return nil
}

func formatOf(src archive.Source, name string) (archive.Format, error) {
	head := make([]byte, 512)
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if format := archive.Sniff(head[:n]); format != "" {
		return format, nil
	}
	return archive.FormatOf(name), nil
}

// openArchive makes a blob readable at any offset, by a copy where the store
// cannot.
func openArchive(ctx context.Context, env *step.Env, ref cache.Ref) (archive.Source, io.Closer, error) {
	if random, ok := env.Store.(cache.RandomStore); ok {
		r, err := random.OpenAt(ctx, ref.ID)
		if err != nil {
			return archive.Source{}, nil, err
		}
		return archive.Source{ReaderAt: r, Size: ref.Size}, r, nil
	}
	r, err := env.Store.Open(ctx, ref.ID)
	if err != nil {
		return archive.Source{}, nil, err
	}
	defer r.Close()
	spool, err := os.CreateTemp(env.WorkDir, "archive-")
	if err != nil {
		return archive.Source{}, nil, err
	}
	if _, err := cache.Copy(ctx, spool, r); err != nil {
		return archive.Source{}, nil, errors.Join(err, spool.Close())
	}
	return archive.Source{ReaderAt: spool, Size: ref.Size}, spool, nil
}

// unpack stores every file of an archive.
func unpack(ctx context.Context, env *step.Env, src archive.Source, format archive.Format, b *tree.Builder) error {
	var files int64
	return archive.Walk(ctx, src, format, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		switch {
		case e.Folder && e.Name == ".":
			return nil
		case e.Folder:
			return b.AddDir(e.Name)
		}
		ref, err := cache.Put(ctx, env.Store, r, cache.Ref{})
		if err != nil {
			return err
		}
		files++
		env.Progress(step.Progress{What: "unpacking", Done: files, Unit: "files"})
		return b.Add(e.Name, ref, e.Executable)
	})
}
