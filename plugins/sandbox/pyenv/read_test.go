package pyenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReadAsRun compares what is read of the Pythons of this machine with what they say
// of themselves.
func TestReadAsRun(t *testing.T) {
	paths := []string{"/usr/bin/python3", "/usr/local/bin/python3"}
	if home, err := os.UserHomeDir(); err == nil {
		for _, pattern := range []string{".pyenv/versions/3*/bin/python3", ".local/share/uv/python/cpython-3*/bin/python3", "*conda*/bin/python3"} {
			found, _ := filepath.Glob(filepath.Join(home, pattern))
			paths = append(paths, found...)
		}
	}
	compared := 0
	for _, path := range paths {
		out, err := exec.Command(path, "-I", "-S", "-c", `import sys, sysconfig
print(sys.base_prefix, ".".join(map(str, sys.version_info[:3])), sysconfig.get_config_var("SOABI"))`).Output()
		if err != nil {
			continue
		}
		i, err := read(path)
		if got := i.Prefix + " " + i.Version + " " + i.Tag; err != nil || got != strings.TrimSpace(string(out)) {
			t.Errorf("%s: read %s, %v; it says %s", path, got, err, out)
		}
		compared++
	}
	if compared == 0 {
		t.Skip("SKIPPED: there is no Python")
	}
}

// installation makes the files of a Python and of an environment for it.
func installation(t *testing.T) (prefix, venv string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	prefix, venv = filepath.Join(dir, "py"), filepath.Join(dir, "venv")
	for name, text := range map[string]string{
		"py/bin/python3.11": "\x7fELF\x00 no program", "py/lib/python3.11/os.py": "", "py/secret": "secret", "py/lib/secret": "",
		"py/lib/python3.11/_sysconfigdata__x.py": " 'SOABI': 'cpython-311-x'", "py/include/python3.11/patchlevel.h": "#define PY_VERSION \"3.11.9\"\n",
		"py/lib/libstdc++.so.6": "", "venv/pyvenv.cfg": "home = " + prefix + "/bin\nversion = 3.11.9\n", "venv/secret": "",
		"venv/lib/python3.11/site-packages/Six-1.2.dist-info/METADATA": "",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(venv, "bin"), 0o755), os.Symlink(filepath.Join(prefix, "bin/python3.11"), filepath.Join(venv, "bin/python3"))); err != nil {
		t.Fatal(err)
	}
	return prefix, venv
}

// TestParts shows what an environment and its interpreter need, and no more.
func TestParts(t *testing.T) {
	prefix, venv := installation(t)
	h, err := Inspect(venv)
	if err != nil || h.Text() != "python==3.11.9 cpython-311-x\nsix==1.2\n" {
		t.Fatalf("%q, %v", h.Text(), err)
	}
	list, err := h.Parts(Guest)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, p := range list {
		at = append(at, p.Guest)
	}
	want := []string{Guest + "/bin", Guest + "/lib", Guest + "/pyvenv.cfg", prefix + "/bin/python3.11", prefix + "/lib/libstdc++.so.6", prefix + "/lib/python3.11"}
	if slices.Sort(at); !slices.Equal(at, want) {
		t.Errorf("shown: %q", at)
	}
}

// TestClosed has environments and installations with folders that no agent may see.
func TestClosed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(prefix, venv string) error
		want   string
	}{
		"home is the prefix":    {func(prefix, _ string) error { return os.Setenv("HOME", prefix) }, "your home folder"},
		"home in the prefix":    {func(prefix, _ string) error { return os.Setenv("HOME", filepath.Join(prefix, "lib")) }, "your home folder"},
		"home in it":            {func(_, venv string) error { return os.Setenv("HOME", filepath.Join(venv, "lib")) }, "your home folder"},
		"working folder in it":  {func(_, venv string) error { return os.Chdir(filepath.Join(venv, "lib")) }, "of this pipeline"},
		"another's home folder": {func(prefix, _ string) error { return os.Mkdir(filepath.Join(prefix, ".ssh"), 0o700) }, "it has .ssh"},
		"private":               {func(string, string) error { return nil }, "of this pipeline or its cache"},
		"script": {func(_, venv string) error {
			at := filepath.Join(venv, "bin/python3")
			return errors.Join(os.Remove(at), os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755), os.Remove(filepath.Join(venv, "pyvenv.cfg")))
		}, "standard library"},
		"link":     {func(_, venv string) error { return os.Symlink("/etc", filepath.Join(venv, "share")) }, "share"},
		"egg-link": {func(_, venv string) error { return os.WriteFile(site(venv, "x.egg-link"), nil, 0o600) }, "without -e"},
		"pth": {func(_, venv string) error {
			return os.WriteFile(site(venv, "x.pth"), []byte("import x\n"+filepath.Dir(venv)+"\n"), 0o600)
		}, "without -e"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", "/nowhere")
			t.Chdir("/")
			prefix, venv := installation(t)
			if err := tt.change(prefix, venv); err != nil {
				t.Fatal(err)
			}
			var private []string
			if name == "private" {
				private = []string{filepath.Join(prefix, "lib")}
			}
			h, err := Inspect(venv, private...)
			if err == nil {
				_, err = h.Parts(Guest)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func site(venv, name string) string {
	return filepath.Join(venv, "lib/python3.11/site-packages", name)
}
