package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" // #nosec G501 -- dpkg's sums of installed files
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/spf13/cobra"
)

//go:embed control.tmpl
var controlText string

//go:embed copyright
var copyright []byte

var control = template.Must(template.New("control").Parse(controlText))

// packsDebian reports whether this machine can write packages for Debian.
func packsDebian() bool {
	_, err := exec.LookPath("dpkg-deb")
	return err == nil
}

// debian is the package of a binary: program, man page, completions of shells,
// copyright and news, where Debian's policy has them.
func debian(version string, b built) artefact {
	name := fmt.Sprintf("mleflow_%s_%s.deb", version, b.arch)
	return artefact{name, func(to string) error {
		root, err := os.MkdirTemp("", "mleflow-deb-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(root)
		files, err := debFiles(b)
		if err != nil {
			return err
		}
		if err := debInfo(files, version, b.arch); err != nil {
			return err
		}
		for path, text := range files {
			if err := debFile(filepath.Join(root, path), text); err != nil {
				return err
			}
		}
		if err := openFolders(root); err != nil {
			return err
		}
		cmd := exec.Command("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", root, to)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=315532800") // 1980
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb: %w\n%s", err, out)
		}
		return nil
	}}
}

// debFile writes a file of a package, with the permissions that packages have. The
// program is the only one that runs.
func debFile(path string, text []byte) error {
	mode := os.FileMode(0o644)
	if filepath.Base(filepath.Dir(path)) == "bin" {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask
}

// openFolders gives folders the permissions that packages have, whatever the umask.
func openFolders(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// debFiles returns the files of a package by their paths. Completions ask the program,
// and depend on its name only.
func debFiles(b built) (map[string][]byte, error) {
	root := &cobra.Command{Use: "mleflow"}
	var bash, zsh, fish bytes.Buffer
	if err := root.GenBashCompletionV2(&bash, true); err != nil {
		return nil, err
	}
	if err := root.GenZshCompletion(&zsh); err != nil {
		return nil, err
	}
	if err := root.GenFishCompletion(&fish, true); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"usr/bin/mleflow": text, "usr/share/doc/mleflow/copyright": copyright, "usr/share/doc/mleflow/" + noticesFile: b.notices,
		"usr/share/bash-completion/completions/mleflow":    bash.Bytes(),
		"usr/share/zsh/vendor-completions/_mleflow":        zsh.Bytes(),
		"usr/share/fish/vendor_completions.d/mleflow.fish": fish.Bytes(),
	}
	for path, from := range map[string]string{"usr/share/man/man1/mleflow.1.gz": "docs/mleflow.1", "usr/share/doc/mleflow/NEWS.gz": "CHANGELOG.md"} {
		if files[path], err = zipped(from); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// zipped returns a file compressed by gzip, without its name and time.
func zipped(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// debInfo adds what dpkg is told of the files: the fields of the package, and the sums
// that dpkg -V compares.
func debInfo(files map[string][]byte, version, arch string) error {
	var fields, sums bytes.Buffer
	size := 0
	for _, path := range slices.Sorted(maps.Keys(files)) {
		size += (len(files[path]) + 1023) / 1024
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(files[path]), path) // #nosec G401
	}
	err := control.Execute(&fields, map[string]any{"Version": version, "Arch": arch, "Size": size})
	files["DEBIAN/control"], files["DEBIAN/md5sums"] = fields.Bytes(), sums.Bytes()
	return err
}
