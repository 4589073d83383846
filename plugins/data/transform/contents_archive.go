package transform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var archiveFilesVerb = Verb{
	Name: "archive_files", Params: []string{"path", "pattern"},
	Summary: "The files in an archive of the raw data whose path inside matches a pattern, a table as of files.",
	Detail:  "The archive is not unpacked.",
	Source:  "sorted(pathlib.Path.glob(pattern)) in the unpacked archive",
	Func: func(in *Input, name, pattern string) (*table.Table, error) {
		if info, err := fs.Stat(in.Raw, name); err == nil && info.IsDir() {
			return unpackedFiles(in, name, pattern)
		}
		var paths []string
		parts := strings.Split(pattern, "/")
		err := walkArchive(in, name, func(e archive.Entry) {
			if !e.Folder && matchPath(parts, strings.Split(e.Name, "/")) {
				paths = append(paths, e.Name)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("archive_files %s: %w", name, err)
		}
		return filesTable(paths)
	},
}

// unpackedFiles lists an archive that is there as a folder of its name.
func unpackedFiles(in *Input, name, pattern string) (*table.Table, error) {
	paths, err := matching(in, path.Join(name, pattern), false)
	if err != nil {
		return nil, fmt.Errorf("archive_files %s: %w", name, err)
	}
	for i := range paths {
		paths[i] = strings.TrimPrefix(paths[i], name+"/")
	}
	return filesTable(paths)
}

func walkArchive(in *Input, name string, visit func(archive.Entry)) (err error) {
	f, err := in.Raw.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return errors.New("the archive cannot be read in place: it is inside another archive")
	}
	src := archive.Source{ReaderAt: at, Size: info.Size()}
	format, err := archive.FormatIn(src, name)
	if err != nil {
		return err
	}
	ctx := in.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return archive.Walk(ctx, src, format, archive.DefaultLimits(), func(e archive.Entry, _ io.Reader) error {
		visit(e)
		return nil
	})
}

// matchPath matches a path against a pattern, both cut at their slashes.
func matchPath(pattern, parts []string) bool {
	if len(pattern) == 0 || len(parts) == 0 {
		return len(pattern) == len(parts)
	}
	if pattern[0] == "**" {
		return matchPath(pattern[1:], parts) || matchPath(pattern, parts[1:]) || len(pattern) == 1
	}
	return matchName(pattern[0], parts[0]) && matchPath(pattern[1:], parts[1:])
}
