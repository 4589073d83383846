package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"github.com/spf13/cobra"
)

//go:embed deb.yaml.tmpl
var debText string

//go:embed copyright
var copyright []byte

var debConfig = template.Must(template.New("deb").Parse(debText))

// debian is the package of a binary: program, man page, completions of shells,
// copyright and news, where Debian's policy has them.
func debian(nfpm, version string, b built) artefact {
	name := fmt.Sprintf("mleflow_%s_%s.deb", version, b.arch)
	return artefact{name, func(to string) error {
		work, err := os.MkdirTemp("", "mleflow-deb-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		if err := debFiles(work); err != nil {
			return err
		}
		var config bytes.Buffer
		if err := debConfig.Execute(&config, map[string]string{"Version": version, "Arch": b.arch, "Program": b.path, "Work": work}); err != nil {
			return err
		}
		file := filepath.Join(work, "deb.yaml")
		if err := os.WriteFile(file, config.Bytes(), 0o600); err != nil {
			return err
		}
		if out, err := exec.Command(nfpm, "package", "--config", file, "--packager", "deb", "--target", to).CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, out)
		}
		return nil
	}}
}

// debFiles writes what the package has besides the program. Completions ask
// the program, and depend on its name only.
func debFiles(work string) error {
	root := &cobra.Command{Use: "mleflow"}
	var bash, zsh, fish bytes.Buffer
	if err := root.GenBashCompletionV2(&bash, true); err != nil {
		return err
	}
	if err := root.GenZshCompletion(&zsh); err != nil {
		return err
	}
	if err := root.GenFishCompletion(&fish, true); err != nil {
		return err
	}
	files := map[string][]byte{"bash": bash.Bytes(), "zsh": zsh.Bytes(), "fish": fish.Bytes(), "copyright": copyright}
	for name, from := range map[string]string{"mleflow.1.gz": "docs/mleflow.1", "NEWS.gz": "CHANGELOG.md"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		files[name] = packed.Bytes()
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
