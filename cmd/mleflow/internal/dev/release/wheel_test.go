package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/macho"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const library = `[build-system]
requires = ["hatchling"]
[project]
name = "mleflow"
version = "0.0.0"
description = "Library"
readme = "README.md"
requires-python = ">=3.9"
license = "Apache-2.0"
keywords = ["a", "b"]
classifiers = ["Typing :: Typed"]
dependencies = []
[project.urls]
Homepage = "https://example.org"
[project.optional-dependencies]
Data_Frames = ["pandas", "polars>1; python_version>'3.9'"]
dropin = ["mleflow-mlebench == 0.0.0"]
[tool.hatch.build.targets.wheel]
packages = ["src/mleflow"]
[tool.other]
any = 1
`

const dropin = `[project]
name = "mleflow-mlebench"
version = "0.0.0"
readme = "README.md"
license = "Apache-2.0"
dependencies = ["mleflow == 0.0.0"]
[project.scripts]
mlebench = "mlebench.cli:main"
[tool.hatch.build.targets.wheel]
packages = ["src/mlebench"]
`

// pythonTree makes the current folder one with two distributions, and the files that
// Python and tools leave in such folders.
func pythonTree(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"LICENSE": "free\n", "python/mleflow/pyproject.toml": library, "python/mlebench/pyproject.toml": dropin,
		"python/mleflow/README.md": "# Read\n", "python/mlebench/README.md": "# Drop\n",
		"python/mleflow/src/mleflow/__init__.py": "x = 1\n", "python/mleflow/src/mleflow/py.typed": "",
		"python/mleflow/src/mleflow/sub/data.json": "{}", "python/mlebench/src/mlebench/__init__.py": "",
		"python/mleflow/src/mleflow/__pycache__/x.pyc": "p", "python/mleflow/src/mleflow/.mypy_cache/x": "m",
		"python/mleflow/src/mleflow/old.pyc": "p", "python/mleflow/tests/test_x.py": "t", "python/notes/README.md": "no distribution",
		"bin": "#!program",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// packPython writes all Python files of the tree to a folder.
func packPython(t *testing.T, out, version string) {
	t.Helper()
	all, err := projects("python", version)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		artefacts, err := p.wheels([]built{{path: "bin", os: "linux", arch: "arm64", notices: []byte("theirs\n")}, {path: "bin", os: "plan9", arch: "amd64"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range append(artefacts, p.source()) {
			if err := a.write(filepath.Join(out, a.name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const armWheel = "mleflow-1.2.3rc1-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl"

func TestPython(t *testing.T) {
	pythonTree(t)
	packPython(t, "a", "1.2.3rc1")
	if err := os.Chmod("python/mleflow/src/mleflow/__init__.py", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes("bin", time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	packPython(t, "b", "1.2.3rc1")
	want := []string{armWheel, "mleflow-1.2.3rc1.tar.gz", "mleflow_mlebench-1.2.3rc1-py3-none-any.whl", "mleflow_mlebench-1.2.3rc1.tar.gz"}
	entries, err := os.ReadDir("a")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if !bytes.Equal(read(t, "a", e.Name()), read(t, "b", e.Name())) {
			t.Errorf("%s differs between two releases of the same files", e.Name())
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWheel(t *testing.T) {
	pythonTree(t)
	packPython(t, "a", "1.2.3rc1")
	files := unzip(t, filepath.Join("a", armWheel))
	info := "mleflow-1.2.3rc1.dist-info/"
	want := map[string]string{
		"mleflow/__init__.py": "x = 1\n", "mleflow/py.typed": "", "mleflow/sub/data.json": "{}",
		"mleflow-1.2.3rc1.data/scripts/mleflow": "#!program",
		info + "licenses/LICENSE":               "free\n",
		info + "licenses/" + noticesFile:        "theirs\n",
		info + "WHEEL": "Wheel-Version: 1.0\nGenerator: mleflow\nRoot-Is-Purelib: false\n" +
			"Tag: py3-none-manylinux2014_aarch64\nTag: py3-none-manylinux_2_17_aarch64\nTag: py3-none-musllinux_1_1_aarch64\n",
		info + "METADATA": `Metadata-Version: 2.4
Name: mleflow
Version: 1.2.3rc1
Summary: Library
Project-URL: Homepage, https://example.org
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD_PARTY_NOTICES.txt
Keywords: a,b
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: data-frames
Requires-Dist: pandas; extra == 'data-frames'
Requires-Dist: polars>1; (python_version>'3.9') and extra == 'data-frames'
Provides-Extra: dropin
Requires-Dist: mleflow-mlebench==1.2.3rc1; extra == 'dropin'
Description-Content-Type: text/markdown

# Read
`,
	}
	checkRecord(t, files, info+"RECORD")
	delete(files, info+"RECORD")
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("wheel (-want +got):\n%s", diff)
	}

	files = unzip(t, "a/mleflow_mlebench-1.2.3rc1-py3-none-any.whl")
	info = "mleflow_mlebench-1.2.3rc1.dist-info/"
	checkRecord(t, files, info+"RECORD")
	if got := files[info+"entry_points.txt"]; got != "[console_scripts]\nmlebench = mlebench.cli:main\n\n" {
		t.Errorf("entry points %q", got)
	}
	if !strings.Contains(files[info+"METADATA"], "\nRequires-Dist: mleflow==1.2.3rc1\n") {
		t.Errorf("metadata %s", files[info+"METADATA"])
	}
	if !strings.Contains(files[info+"WHEEL"], "Root-Is-Purelib: true\nTag: py3-none-any\n") {
		t.Errorf("wheel %s", files[info+"WHEEL"])
	}
}

// unzip reads a wheel, and checks what installers take from its headers.
func unzip(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := files[f.Name]; twice {
			t.Errorf("%s is in %s twice", f.Name, path)
		}
		files[f.Name] = string(data)
		mode := os.FileMode(0o644)
		if strings.Contains(f.Name, ".data/scripts/") {
			mode = 0o755
		}
		const sizesFollow = 0x8
		if f.Mode() != mode || f.Flags&sizesFollow != 0 || f.Modified.UTC() != time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) {
			t.Errorf("%s has mode %v, flags %#x, time %v", f.Name, f.Mode(), f.Flags, f.Modified)
		}
	}
	return files
}

// checkRecord checks RECORD against the files, as installers do.
func checkRecord(t *testing.T, files map[string]string, name string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(files[name])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(files) {
		t.Errorf("RECORD has %d rows for %d files", len(rows), len(files))
	}
	for _, row := range rows {
		sum := sha256.Sum256([]byte(files[row[0]]))
		want := []string{row[0], "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(files[row[0]]))}
		if row[0] == name {
			want = []string{name, "", ""}
		}
		if diff := cmp.Diff(want, row); diff != "" {
			t.Errorf("RECORD (-want +got):\n%s", diff)
		}
	}
}

func TestSource(t *testing.T) {
	pythonTree(t)
	packPython(t, "a", "1.2.3")
	gz, err := gzip.NewReader(bytes.NewReader(read(t, "a", "mleflow-1.2.3.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(gz)
	var names []string
	files := map[string]string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, "mleflow-1.2.3/")
		names, files[name] = append(names, name), string(data)
	}
	want := []string{"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "src/mleflow/__init__.py", "src/mleflow/py.typed", "src/mleflow/sub/data.json"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	inRelease := strings.NewReplacer(`version = "0.0.0"`, `version = "1.2.3"`, `"mleflow-mlebench == 0.0.0"`, `"mleflow-mlebench==1.2.3"`).Replace(library)
	if diff := cmp.Diff(inRelease, files["pyproject.toml"]); diff != "" {
		t.Errorf("pyproject.toml (-want +got):\n%s", diff)
	}
}

// TestPyprojectIsUnderstood refuses what would be lost, or wrong in a release.
func TestPyprojectIsUnderstood(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown fact":     {`keywords =`, `maintainers =`, "the key project.maintainers"},
		"unknown setting":  {`packages =`, "force-include = {}\npackages =", "the key tool.hatch.build.targets.wheel.force-include"},
		"licence as table": {`license = "Apache-2.0"`, `license = { text = "Apache-2.0" }`, `write license = "Apache-2.0"`},
		"no licence":       {`license = "Apache-2.0"`, ``, "project.license"},
		"no readme":        {`readme = "README.md"`, ``, "it needs project.name"},
		"two versions":     {`[tool.other]`, "[tool.other]\nversion = \"1\"", "2 lines begin with version"},
		"no pin":           {`"mleflow-mlebench == 0.0.0"`, `"mleflow-mlebench"`, `depends on "mleflow-mlebench": pin the version`},
		"a range":          {`"mleflow-mlebench == 0.0.0"`, `"mleflow-mlebench>=0"`, "pin the version"},
		"no TOML":          {`[project]`, `[project`, "toml"},
	} {
		t.Run(name, func(t *testing.T) {
			pythonTree(t)
			text := strings.Replace(library, c.old, c.new, 1)
			if text == library {
				t.Fatal("nothing replaced")
			}
			if err := os.WriteFile("python/mleflow/pyproject.toml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := projects("python", "1.2.3"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "python/mleflow") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestVersions has versions from the oldest to the newest, in the forms of PEP 440 and
// of Debian's policy. Where dpkg is, it is asked for the order.
func TestVersions(t *testing.T) {
	_, noDpkg := exec.LookPath("dpkg")
	older := "0"
	for _, c := range []struct{ version, python, debian string }{
		{"v0.1.0-dev", "0.1.0.dev0", "0.1.0~~dev0"},
		{"v0.1.0-alpha.2", "0.1.0a2", "0.1.0~alpha2"},
		{"v0.1.0-beta", "0.1.0b0", "0.1.0~beta0"},
		{"v0.1.0-rc.1", "0.1.0rc1", "0.1.0~rc1"},
		{"v0.1.0-rc.1-3-gabc123", "0.1.0rc1+3.gabc123", "0.1.0~rc1+3.gabc123"},
		{"0.1.0", "0.1.0", "0.1.0"},
		{"v0.1.0-dirty", "0.1.0+dirty", "0.1.0+dirty"},
		{"v1.2.3-14-gabc123-dirty", "1.2.3+14.gabc123.dirty", "1.2.3+14.gabc123.dirty"},
	} {
		got, err := versionsOf(c.version)
		if err != nil || got.python != c.python || got.debian != c.debian {
			t.Errorf("%s: %v, %v", c.version, got, err)
		}
		if noDpkg == nil && exec.Command("dpkg", "--compare-versions", older, "lt", got.debian).Run() != nil {
			t.Errorf("to dpkg, %s is not older than %s", older, got.debian)
		}
		older = got.debian
	}
	for _, bad := range []string{"", "v1.2.3-preview", "latest", "v1.2.3+build", "abc123-dirty"} {
		if v, err := versionsOf(bad); err == nil {
			t.Errorf("%q is %v", bad, v)
		}
	}
}

// TestOldestMacOS has load commands as <mach-o/loader.h> declares them.
func TestOldestMacOS(t *testing.T) {
	load := func(words ...uint32) macho.Load {
		var raw []byte
		for _, w := range words {
			raw = binary.LittleEndian.AppendUint32(raw, w)
		}
		return macho.LoadBytes(raw)
	}
	uuid := load(0x1b, 24, 0, 0, 0, 0)
	for name, c := range map[string]struct {
		loads []macho.Load
		want  uint32
	}{
		"LC_BUILD_VERSION":         {[]macho.Load{uuid, load(0x32, 24, 1, 12<<16|3<<8, 14<<16, 0)}, 12},
		"LC_VERSION_MIN_MACOSX":    {[]macho.Load{load(0x24, 16, 11<<16, 14<<16)}, 11},
		"none of them is an error": {[]macho.Load{uuid}, 0},
	} {
		got, err := oldestMacOS(&macho.File{ByteOrder: binary.LittleEndian, Loads: c.loads})
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// TestFormula has archives of two platforms.
func TestFormula(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, platform := range []string{"linux-amd64", "darwin-arm64"} {
		if err := os.WriteFile("mleflow-v1.2.3-"+platform+".tar.gz", []byte(platform), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeFormula(".", "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(read(t, ".", "mleflow.rb"))) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "on_") || strings.HasPrefix(line, "url") || strings.HasPrefix(line, "sha256") || strings.HasPrefix(line, "version") {
			got = append(got, line)
		}
	}
	const from = `url "https://github.com/mleflow/mleflow/releases/download/v1.2.3/mleflow-v1.2.3-`
	sum := func(text string) string {
		return fmt.Sprintf("sha256 %q", fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
	}
	want := slices.Concat([]string{`version "1.2.3"`},
		[]string{"on_macos do", "on_arm do", from + `darwin-arm64.tar.gz"`, sum("darwin-arm64")},
		[]string{"on_linux do", "on_intel do", from + `linux-amd64.tar.gz"`, sum("linux-amd64")})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("formula (-want +got):\n%s", diff)
	}
}
