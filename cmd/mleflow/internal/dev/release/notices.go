package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

// noticesFile is what a binary carries of the licences of others.
const noticesFile = "THIRD_PARTY_NOTICES.txt"

// licenceName matches the files that a licence asks to be kept.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-_.].*)?$`)

// noticesOf returns the licences and notices of Go and of every module that a binary has,
// each text once with the modules that it is of. A module without any is an error.
func noticesOf(binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read build information: %w", err)
	}
	where, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	root, modules, _ := strings.Cut(strings.TrimSpace(string(where)), "\n")
	of := map[string][]string{} // who has a text
	add := func(name, folder string) error {
		texts, err := licences(folder)
		if err == nil && len(texts) == 0 { // some have it at the end of the README
			text, _ := os.ReadFile(filepath.Join(folder, "README.md"))
			if texts = []string{strings.TrimSpace(string(text))}; !bytes.Contains(text, []byte("Permission is hereby granted")) {
				err = fmt.Errorf("%s has no licence in %s", name, folder)
			}
		}
		for _, text := range texts {
			if !slices.Contains(of[text], name) {
				of[text] = append(of[text], name)
			}
		}
		return err
	}
	if err := add("Go "+info.GoVersion, filepath.Join(root, "LICENSE")); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		m = cmp.Or(m.Replace, m)
		if err := add(m.Path+" "+m.Version, filepath.Join(modules, folderOf(m))); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "mleflow is under the Apache License 2.0; see LICENSE. The program contains Go and %d modules of others.\n", len(info.Deps))
	for _, text := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(strings.Compare(of[a][0], of[b][0]), strings.Compare(a, b)) }) {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return out.Bytes(), nil
}

// folderOf is the folder of a module in the module cache, where a capital letter is a
// small one after an exclamation mark.
func folderOf(m *debug.Module) string {
	var path strings.Builder
	for _, r := range m.Path + "@" + m.Version {
		if unicode.IsUpper(r) {
			path.WriteByte('!')
		}
		path.WriteRune(unicode.ToLower(r))
	}
	return path.String()
}

// licences returns the texts of all files in a folder, or of the file, that a licence asks to
// be kept.
func licences(folder string) (texts []string, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "testdata":
			return fs.SkipDir
		case !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		return err
	})
	return texts, err
}
