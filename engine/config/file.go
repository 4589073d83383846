package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxFile is the greatest file that file() reads, in bytes.
const maxFile = 16 << 20

// localFiles are the files that a pipeline reads. Each is read once, so that
// plan and apply see the same text, and kept, so that a run remembers it.
type localFiles struct {
	folder string
	// given stands for the folder if it is not nil.
	given map[string][]byte

	mu   sync.Mutex
	read map[string][]byte
}

// FilesRead returns the texts of the files that the pipeline has read by now,
// by their paths below its folder, with slashes.
func (p *Pipeline) FilesRead() map[string][]byte {
	p.files.mu.Lock()
	defer p.files.mu.Unlock()
	read := maps.Clone(p.files.read)
	if read == nil {
		read = map[string][]byte{}
	}
	return read
}

// FileFunc is the function file of a pipeline that reads no files, for its
// documentation.
func FileFunc() function.Function { return (&localFiles{}).function() }

// function returns file("path"): the text of a file below the pipeline's
// folder.
func (l *localFiles) function() function.Function {
	return function.New(&function.Spec{
		Description: "Returns the text of a file below the folder of the pipeline, which must be UTF-8. The path is relative to that folder and does not leave it. The text is part of whatever it is used for; the path is not.",
		Params:      []function.Parameter{{Name: "path", Type: cty.String}},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := l.text(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(string(text)), nil
		},
	})
}

func (l *localFiles) text(name string) ([]byte, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("%q is not a path below the pipeline's folder: put the file there, and write its path relative to that folder", name)
	}
	name = path.Clean(filepath.ToSlash(name))
	l.mu.Lock()
	defer l.mu.Unlock()
	if text, ok := l.read[name]; ok {
		return text, nil
	}
	text, err := l.load(name)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s is not a text in UTF-8", name)
	}
	if l.read == nil {
		l.read = map[string][]byte{}
	}
	l.read[name] = text
	return text, nil
}

func (l *localFiles) load(name string) ([]byte, error) {
	if l.given != nil {
		if text, ok := l.given[name]; ok {
			return text, nil
		}
		return nil, fmt.Errorf("the run that is looked at read no file %s; it read %q", name, slices.Sorted(maps.Keys(l.given)))
	}
	root, err := os.OpenRoot(l.folder)
	if err != nil {
		return nil, fmt.Errorf("open the pipeline's folder: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s in %s", name, l.folder)
	case err != nil:
		return nil, fmt.Errorf("find %s: %w", name, err)
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return text, nil
}
