package pyenv

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// parts are the entries of an environment that its programs need.
var parts = []string{"bin", "etc", "include", "lib", "lib64", "libexec", "pyvenv.cfg", "share", "ssl"}

// Parts returns what an agent is to see of the environment, at its own path and at
// another. An environment of conda is its own installation, whose programs name its
// path.
func (h Host) Parts(at string) (list []executor.Mount, err error) {
	whole, err := checkout.Follow(h.Dir)
	if err != nil {
		return nil, err
	}
	places := []string{at}
	if h.Prefix == whole {
		places = append(places, h.Dir)
	}
	for _, name := range parts {
		host, err := checkout.Follow(filepath.Join(whole, name))
		if err != nil {
			continue // it has none
		}
		if !checkout.Below(host, whole) {
			return nil, fmt.Errorf("%s of the environment %s is a link to %s, which an agent must not see: make the environment again", name, h.Dir, host)
		}
		for _, place := range places {
			list = append(list, executor.Mount{Host: host, Guest: filepath.Join(place, name), ReadOnly: true})
		}
	}
	if h.Prefix == whole {
		return list, nil
	}
	return append(list, h.Needs()...), nil
}

// Needs returns what an interpreter needs of its installation: the program by its usual
// names, the standard library, and the shared libraries in the installation to which
// these are linked. There is nothing to show of /usr, which every agent without an image
// sees.
func (i Interpreter) Needs() (list []executor.Mount) {
	for _, place := range []string{i.Prefix, i.named} {
		if place == "" || checkout.Below(place, "/usr") {
			continue
		}
		add := func(host, rel string) {
			list = append(list, executor.Mount{Host: host, Guest: filepath.Join(place, rel), ReadOnly: true})
		}
		for _, name := range i.names() {
			add(i.Path, filepath.Join("bin", name))
		}
		if host, err := checkout.Follow(filepath.Join(i.Prefix, i.stdlib)); err == nil {
			add(host, i.stdlib)
		}
		for rel, host := range i.libraries() {
			add(host, rel)
		}
		for _, name := range []string{"ssl/cert.pem", "ssl/openssl.cnf"} {
			if host, err := i.regular(name); err == nil {
				add(host, name)
			}
		}
	}
	slices.SortFunc(list, func(a, b executor.Mount) int { return strings.Compare(a.Guest, b.Guest) })
	return list
}

// names returns the names of the program in the installation's folder of programs.
func (i Interpreter) names() (names []string) {
	for _, name := range []string{"python", "python3", "python" + i.Minor(), filepath.Base(i.Path)} {
		at, err := checkout.Follow(filepath.Join(i.Prefix, "bin", name))
		if err == nil && at == i.Path && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// regular returns the path without links of a regular file below the prefix, to which
// rel leads without leaving the prefix.
func (i Interpreter) regular(rel string) (string, error) {
	f, err := checkout.Open(filepath.Join(i.Prefix, rel), i.Prefix)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return f.Name(), nil
}

// always are the libraries that compiled packages take from the interpreter's
// installation if it has them.
var always = []string{"libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1"}

// libraries returns the shared libraries below the prefix that the program, the compiled
// modules of the standard library and such libraries are linked to, by their path below
// the prefix.
func (i Interpreter) libraries() map[string]string {
	found := map[string]string{}
	take := func(name string, folders []string) (fresh string) {
		for _, dir := range folders {
			rel, err := filepath.Rel(i.Prefix, filepath.Join(dir, name))
			if err != nil || !filepath.IsLocal(rel) || found[rel] != "" {
				continue
			}
			if host, err := i.regular(rel); err == nil {
				found[rel] = host
				return host
			}
		}
		return ""
	}
	lib := filepath.Join(i.Prefix, "lib")
	todo := []string{i.Path}
	modules, _ := os.ReadDir(filepath.Join(i.Prefix, i.stdlib, "lib-dynload"))
	for _, m := range modules {
		todo = append(todo, filepath.Join(i.Prefix, i.stdlib, "lib-dynload", m.Name()))
	}
	for _, name := range always {
		if host := take(name, []string{lib}); host != "" {
			todo = append(todo, host)
		}
	}
	for len(todo) > 0 {
		names, folders := links(todo[0])
		todo = todo[1:]
		for _, name := range names {
			if filepath.Base(name) != name {
				continue // a path, which the program finds or not
			}
			if host := take(name, append(folders, lib)); host != "" {
				todo = append(todo, host)
			}
		}
	}
	return found
}

// links returns the names of the shared libraries that a program or library is linked to,
// and the folders where it looks for them first.
func links(file string) (names, folders []string) {
	defer func() {
		if recover() != nil { // debug/elf promises nothing for damaged files
			names, folders = nil, nil
		}
	}()
	f, err := checkout.Open(file)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, nil
	}
	names, _ = e.ImportedLibraries()
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		texts, _ := e.DynString(tag)
		for _, text := range texts {
			for _, dir := range filepath.SplitList(text) {
				origin := filepath.Dir(f.Name())
				folders = append(folders, filepath.Clean(strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)))
			}
		}
	}
	return names, folders
}
