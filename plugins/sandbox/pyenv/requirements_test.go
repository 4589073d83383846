package pyenv

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sum is a hash of a package.
var sum = "sha256:" + strings.Repeat("0", 64)

// TestParse has what is accepted, and how installers get it.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"numpy\r\n": "numpy\n",
		"numpy\rscikit-learn [ alldeps , x ] >= 1.5, <2 # as published\n": "numpy\nscikit-learn[alldeps,x]>=1.5,<2\n",
		"\ufeffsix\n":                           "six\n",
		"\xff\xfes\x00i\x00x\x00\r\x00\n\x00":   "six\n",
		"\xfe\xff\x00s\x00i\x00x":               "six\n",
		"six \\\n  == \\\n 1.0\n":               "six==1.0\n",
		"six \\\n# a comment ends it\n ==1.0\n": "",
		"# only \\\nsix\n":                      "six\n",
		"six (>=1.0)\n":                         "six>=1.0\n",
		"six[]===1.0+local\n":                   "six===1.0+local\n",
		"a; python_version<'3.9' and(extra == \"x\" or os_name  not in 'nt')\n":                                                             "a ; python_version<'3.9' and(extra == \"x\" or os_name not in 'nt')\n",
		"a==1 --hash=" + sum + " \\\n  --hash " + sum + "\n":                                                                                "a==1 \\\n    --hash=" + sum + " \\\n    --hash=" + sum + "\n",
		"-i https://index.example:8443/simple/\n--extra-index-url=https://a.b/c%2Fd\na\n":                                                   "--index-url https://index.example:8443/simple/\n--extra-index-url https://a.b/c%2Fd\n\na\n",
		"--only-binary :all:\n--prefer-binary\n--require-hashes\na\n":                                                                       "a\n",
		"[project]\nname = \"x\"\ndependencies = [\"a >= 1\", 'b']\n[build-system]\nbuild-backend = \"evil\"\n[tool.uv]\npackage = false\n": "a>=1\nb\n",
	} {
		list, err := Parse("requirements.txt", text)
		if want == "" {
			if err == nil {
				t.Errorf("%q: accepted as %q", text, list)
			}
			continue
		}
		if diff := cmp.Diff(want, list.String()); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
		if again, err := Parse("requirements.txt", list.String()); err != nil || !cmp.Equal(list, again) {
			t.Errorf("%q: parsed again: %v, %v", text, again, err)
		}
	}
}

// TestParseWheels reads wheels beside the requirements, and nothing outside that folder.
func TestParseWheels(t *testing.T) {
	sum := "sha256:" + strings.Repeat("0a", 32)
	for line, want := range map[string]string{
		"./tool-1.0-py3-none-any.whl":                                     "tool-1.0-py3-none-any.whl tool==1.0",
		"tool-1.0-py3-none-any.whl":                                       "tool-1.0-py3-none-any.whl tool==1.0",
		"./wheels/my_tool-2.0+cu124-1-cp311-cp311-manylinux_2_28_x86.whl": "wheels/my_tool-2.0+cu124-1-cp311-cp311-manylinux_2_28_x86.whl my_tool==2.0+cu124",
		"./a/b/t-1-py3-none-any.whl --hash=" + sum:                        "a/b/t-1-py3-none-any.whl t==1 \\\n    --hash=" + sum,
		"../t-1-py3-none-any.whl":                                         "", "./a/../t-1-py3-none-any.whl": "", "./../t-1-py3-none-any.whl": "", "/t-1-py3-none-any.whl": "", "~/t-1-py3-none-any.whl": "",
		"./.hidden/t-1-py3-none-any.whl": "", "./a//t-1-py3-none-any.whl": "", "file:t-1-py3-none-any.whl": "", `.\t-1-py3-none-any.whl`: "", "./t.whl": "", "./t-1.whl": "", "./t-1-py3-none-any.zip": "",
		"./t-1-py3-none-any.whl[x]": "", "./$HOME/t-1-py3-none-any.whl": "", "./a b/t-1-py3-none-any.whl": "", "./t-1-py3-none-any.whl -e .": "", "-f ./t-1-py3-none-any.whl": "",
	} {
		list, err := Parse("requirements.txt", line+"\n")
		got := strings.Join(append(list.Wheels(), strings.TrimSuffix(list.String(), "\n")), " ")
		if (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
}

// TestParseRefuses has what installers would give a meaning of their own.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"--index-url https://me:pass@index.example/simple\n":  "password",
		"--index-url https://me:pa/ss@index.example/simple\n": "password",
		"x @ git+https://host/x@v1\n":                         "Git",
		"-r other.txt\n":                                      "line 1: \"-r other.txt\": it refers",
		"numpy\n -rother.txt\n":                               "line 2: \"-rother.txt\"",
		"--requirement=/abs/x.txt\n":                          "refers to another file",
		"--requ other.txt\n":                                  "not supported",
		"-c/abs/x.txt\n":                                      "refers to another file",
		"-e.\n":                                               "from sources",
		"six\r-e ./evil\n":                                    "line 2",
		"six\v-e ./evil\n":                                    "line 2",
		"six\f-e ./evil\n":                                    "line 2",
		"six\u2028-e ./evil\n":                                "line 2",
		"six\u0085-e ./evil\n":                                "line 2",
		"\ufeff-e ./evil\n":                                   "from sources",
		"\xff\xfe-\x00e\x00 \x00.\x00":                        "from sources",
		"-\\\ne ./evil\n":                                     "from sources",
		"s\x00ix\n":                                           "not UTF-8",
		"six\xff\n":                                           "not UTF-8",
		"a\n  --find-links /home/me/wheels\n":                 "UV_FIND_LINKS",
		"-f https://index.example/wheels\n":                   "UV_FIND_LINKS",
		"--no-binary docopt\n":                                "only wheels",
		"--only-binary :none:\n":                              "only wheels",
		"--no-index\n":                                        "UV_FIND_LINKS",
		"--trusted-host x\n":                                  "not supported",
		"--pre\n":                                             "not supported",
		"a --global-option=x\n":                               "after a package only --hash",
		"a --config-settings x=y\n":                           "after a package only --hash",
		"a --hash=md5:00\n":                                   "after a package only --hash",
		"a --hash=" + sum + " --no-binary a\n":                "after a package only --hash",
		"./pkg\n":                                             "another file",
		"/abs/pkg.whl\n":                                      "another file",
		"pkg.tar.gz\n":                                        "another file",
		"pkg.whl[x]\n":                                        "another file",
		"..\n":                                                "another file",
		"file:///abs/x.whl\n":                                 "another file",
		"x @ file:///abs/x.whl\n":                             "another file",
		"x@./x.whl\n":                                         "another file",
		"six @ http://host/${AWS_SECRET_ACCESS_KEY}/six.whl\n": "variables are not replaced",
		"six==${VERSION}\n":                                    "variables are not replaced",
		"--index-url https://host/${KEY}/simple\n":             "without variables",
		"--index-url file:///simple\n":                         "an index must be",
		"--index-url http://127.0.0.1/simple\n":                "by its name",
		"--index-url http://[::1]/simple\n":                    "by its name",
		"--index-url https://host/simple?a=b\n":                "an index must be",
		"a;python_version<'3'; os_name=='x'\n":                 "not a requirement",
		"a; evil()\n":                                          "not a requirement",
		"a b\n":                                                "not a requirement",
		"é\n":                                                  "not a requirement",
		"[project]\ndynamic = [\"dependencies\"]\n":            "dynamic",
		"[project]\ndependencies = [\"a @ file:///x\"]\n":      "project.dependencies: \"a @ file:///x\"",
		"[project]\ndependencies = [\"a --hash=" + sum + "\"]": "no options",
		"[project]\ndependencies = [\"a\\n-e .\"]\n":           "project.dependencies",
		"[project]\n[tool.uv.sources]\na = { path = \"a\" }\n": "tool.uv.sources",
		"[project]\na = " + strings.Repeat("[", 1000):          "nested deeper",
		"[project]\n" + strings.Repeat("a.", 1000) + "a=1":     "nested deeper",
		"[project]\n[project]\n":                               "project",
	} {
		list, err := Parse("requirements.txt", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, list, err, want)
		}
	}
	if _, err := Parse("pyproject.toml", "[build-system]\nrequires = []\n"); err == nil || !strings.Contains(err.Error(), "no table [project]") {
		t.Error(err)
	}
}

// FuzzParse looks for text that is accepted and that installers would read as more than
// packages and indexes.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a==1\n", "-i https://a.b/c\n", "a[b] ; os_name == 'x' --hash=" + sum, "[project]\ndependencies = ['a']\n", "a\\\n#\n", "\xff\xfea\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse("requirements.txt", text)
		if err != nil {
			return
		}
		written := list.String()
		again, err := Parse("requirements.txt", written)
		if err != nil || again.String() != written {
			t.Errorf("%q is %q, then %q: %v", text, written, again, err)
		}
		if strings.ContainsAny(written, "$@\r\v\f\x00") {
			t.Errorf("%q is %q", text, written)
		}
		for line := range strings.Lines(written) {
			if line[0] == '-' && !indexOption.Regexp().MatchString(strings.TrimSpace(line)) {
				t.Errorf("%q is %q", text, written)
			}
		}
	})
}

func TestPins(t *testing.T) {
	for text, want := range map[string]string{
		"a==1 --hash=" + sum:                "",
		"a>=1 --hash=" + sum:                "a has no version",
		"a==1.* --hash=" + sum:              "a has no version",
		"a==1,<2 --hash=" + sum:             "a has no version",
		"a==1":                              "a has no version",
		"--no-binary a\na==1 --hash=" + sum: "only wheels",
		"[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"https://pypi.org/simple\" }\nwheels = [{ hash = \"" + sum + "\" }]\n[[package]]\nname = \"me\"\nversion = \"0\"\nsource = { editable = \".\" }\n": "",
		"[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { git = \"https://host/a\" }\n":                      "not a version of an index",
		"[[package]]\nname = \"a\"\nversion = \"1\\n-e .\"\nsource = { registry = \"https://pypi.org/simple\" }\n": "not a version of an index",
		"[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"x\" }\nwheels = [{ hash = \"x\" }]\n": "not a version of an index",
	} {
		list, err := Pins("requirements.lock", text)
		if want == "" && (err != nil || !cmp.Equal(list.Versions(), map[string]string{"a": "1"})) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v, want %q", text, list, err, want)
		}
	}
}

// TestPin keeps a resolved package to the hashes of the requirements and of a lock.
func TestPin(t *testing.T) {
	other := "sha256:" + strings.Repeat("1", 64)
	both := func() List {
		return List{Packages: []Package{{Name: "a", Specifier: "==1", Hashes: []string{sum, other}}}}
	}
	one := List{Packages: []Package{{Name: "A", Hashes: []string{other}}}}
	for _, tt := range []struct {
		asked List
		pins  *List
		want  []string
		err   string
	}{
		{asked: List{Packages: []Package{{Name: "a"}}}, want: []string{sum, other}},
		{asked: one, want: []string{other}},
		{pins: &one, want: []string{other}},
		{pins: &List{}, err: "it lacks a"},
		{asked: List{Packages: []Package{{Name: "a", Hashes: []string{"sha256:2"}}}}, err: "no wheel has one of the hashes"},
	} {
		got := both()
		err := got.pin(tt.asked, tt.pins)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		} else if err != nil || !cmp.Equal(got.Packages[0].Hashes, tt.want) {
			t.Errorf("%v, %v", got, err)
		}
	}
}
