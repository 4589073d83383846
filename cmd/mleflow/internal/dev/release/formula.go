package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// releases is where archives are downloaded from, an address without the version.
const releases = "https://github.com/mleflow/mleflow/releases/download"

//go:embed mleflow.rb.tmpl
var formulaText string

var formula = template.Must(template.New("formula").Parse(formulaText))

// writeFormula writes a formula for Homebrew with the archives that are in the folder.
func writeFormula(out, version string) (err error) {
	type system struct {
		Name     string
		Archives []map[string]string
	}
	data := struct {
		Version string
		Systems []system
	}{Version: strings.TrimPrefix(version, "v")}
	for _, brew := range []struct{ name, goos string }{{"macos", "darwin"}, {"linux", "linux"}} {
		s := system{Name: brew.name}
		for _, cpu := range []struct{ name, goarch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			archive := fmt.Sprintf("mleflow-%s-%s-%s.tar.gz", version, brew.goos, cpu.goarch)
			sum, err := sumOf(filepath.Join(out, archive))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			s.Archives = append(s.Archives, map[string]string{"CPU": cpu.name, "URL": releases + "/" + version + "/" + archive, "Sum": fmt.Sprintf("%x", sum)})
		}
		if s.Archives != nil {
			data.Systems = append(data.Systems, s)
		}
	}
	f, err := os.Create(filepath.Join(out, "mleflow.rb"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return formula.Execute(f, data)
}
