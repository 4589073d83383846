package program

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

//go:embed python/run.py python/mlebench/*.py python/mlebench/competitions/*.py python/mledojo/*.py python/mledojo/metrics/*.py python/mledojo/competitions/*.py
var embedded embed.FS

// Runner is the program that calls a function of the code, in the working folder.
const Runner = "run.py"

// files returns what is beside the code, by path: the runner, and packages mlebench and
// mledojo with the tools that preparers and graders import.
func files() map[string][]byte {
	list := shim.Tools()
	_ = fs.WalkDir(embedded, "python", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			list[strings.TrimPrefix(name, "python/")], err = embedded.ReadFile(name)
		}
		return err
	})
	return list
}

// Digest identifies what is beside the code.
func Digest() digest.ContentID {
	h, list := digest.NewHasher("python runner", "1"), files()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		h.Content(name, digest.Of(list[name]))
	}
	return digest.ContentID(h.Sum())
}

// Lay writes the runner and the code of a definition to a folder. Files of the code that
// have the names of others are refused.
func Lay(def *competitions.Definition, dir string) error {
	write := func(name string, data []byte) error {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	for name, data := range files() {
		if err := write(name, data); err != nil {
			return fmt.Errorf("write the Python runner: %w", err)
		}
	}
	to := strings.ReplaceAll(def.Python.Package, ".", "/")
	err := fs.WalkDir(def.Folder(), def.Python.Folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(def.Folder(), name)
		if err != nil {
			return err
		}
		return write(path.Join(to, strings.TrimPrefix(name, def.Python.Folder+"/")), data)
	})
	if err != nil {
		return fmt.Errorf("write the competition's Python: %w", err)
	}
	return nil
}

// PackagesOf returns what the code of a definition needs.
func PackagesOf(p competitions.Python) *Python {
	return &Python{Requirements: p.Requirements, Version: p.Version}
}

// Environment is that of the code: the same order of sets and the same zone everywhere.
var Environment = map[string]string{"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC"}
