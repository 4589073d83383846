package containerdtest

import (
	"context"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// Program is the path of the test program in the images of Image.
const Program = "/usr/bin/program"

// Image builds an image that contains only the running test program, as Program, and
// returns it as a Spec's Image.
func Image(t testing.TB) string {
	t.Helper()
	recipe, err := Recipe()
	if err != nil {
		t.Fatal(err)
	}
	made, err := (&image.Builder{Dir: t.TempDir()}).Build(context.Background(), recipe, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return made.Path
}

// Recipe returns the recipe of Image. A program that is linked with C, for the race
// detector, gets the libraries that it needs.
func Recipe() (image.Recipe, error) {
	self, err := os.Executable()
	if err != nil {
		return image.Recipe{}, err
	}
	recipe := image.Static(self, filepath.Base(Program))
	libraries, err := needed(self)
	for _, file := range libraries {
		recipe.Files = append(recipe.Files, image.File{Host: file, Guest: file})
	}
	return recipe, err
}

// needed returns the loader and the libraries of a program, or nothing for a static
// one.
func needed(program string) ([]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []string
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			text, err := io.ReadAll(p.Open())
			if err != nil {
				return nil, err
			}
			list = append(list, string(text[:len(text)-1]))
		}
	}
	libraries, err := f.ImportedLibraries()
	for _, name := range libraries {
		for _, pattern := range []string{"/lib/*-linux-gnu/", "/lib64/", "/lib/"} {
			if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
				list = append(list, found[0])
				break
			}
		}
	}
	return list, err
}
