package program_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// machine runs programs in the sandbox with a Python of this machine, which has no packages
// unless MLEFLOW_PYTHON names one that has.
func machine(t *testing.T) program.Machine {
	t.Helper()
	boxed := sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()
	if here := boxed.Here(); !here.OK {
		t.Skip(here.Because)
	}
	packages, version := "", ""
	if given := os.Getenv("MLEFLOW_PYTHON"); given != "" {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(given)), "lib", "python3*", "site-packages"))
		if err != nil || len(found) != 1 {
			t.Fatalf("packages of %s: %v, %v", given, found, err)
		}
		packages, version = found[0], strings.TrimPrefix(filepath.Base(filepath.Dir(found[0])), "python")
	}
	python, err := pyenv.Find(t.Context(), version)
	if err != nil {
		t.Skip(err)
	}
	return program.Machine{
		Executor: executor.Enclosed{Sandbox: boxed, Otherwise: process.New("")},
		Packages: func(_ context.Context, _ pyenv.Requirements, dir string) (string, func() error, error) {
			venv := filepath.Join(dir, "venv")
			place, err := pyenv.Venv(venv, filepath.Join(dir, "none"), python)
			if err == nil && packages != "" {
				err = errors.Join(os.Remove(filepath.Join(venv, place)), os.Symlink(packages, filepath.Join(venv, place)))
			}
			return venv, func() error { return nil }, err
		},
	}
}

// coded returns a competition with this code.
func coded(t *testing.T, prepare, grade, more string) *competitions.Definition {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ponds")
	files := map[string]string{
		competitions.FileName: `competition "ponds" {
  title = "Ponds"
  description = "x"
  complexity = "low"
  python {
    package      = "mlebench.competitions.ponds"
    prepare      = "prepare:prepare"
    grade        = "grade:grade"
    better       = "higher"
    requirements = "requirements.txt"
    ` + more + `
  }
}
`,
		"python/prepare.py": "import os, shutil, socket, subprocess, sys, time\nfrom pathlib import Path\nfrom .names import NAME\n\n\ndef prepare(raw: Path, public: Path, private: Path):\n    " + strings.ReplaceAll(prepare, "\n", "\n    ") + "\n",
		"python/grade.py":   "from mlebench.grade_helpers import InvalidSubmissionError\n\n\ndef grade(submission, answers):\n    " + strings.ReplaceAll(grade, "\n", "\n    ") + "\n",
		"python/names.py":   "NAME = 'pond'\n",
		"requirements.txt":  "# none\n",
	}
	write(t, dir, files)
	catalog, err := competitions.LoadFolder(competitions.Folder{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get("ponds")
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// prepared runs a preparation and returns its files with their content.
func prepared(t *testing.T, m program.Machine, def *competitions.Definition, raw string) (map[string]string, error) {
	t.Helper()
	p := &program.Preparation{Machine: m, Raw: raw, Work: t.TempDir()}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(p.Work); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}()
	if err := p.Run(t.Context(), def); err != nil {
		return nil, err
	}
	files := map[string]string{}
	return files, p.Each(func(path string) error { files[path+"/"] = ""; return nil }, func(path string, from fs.FS, name string) error {
		data, err := fs.ReadFile(from, name)
		files[path] = string(data)
		return err
	})
}

func rawData(t *testing.T) string {
	t.Helper()
	raw := filepath.Join(t.TempDir(), "raw")
	write(t, raw, map[string]string{"a.csv": "id\n1\n", "deep/b.txt": "b\n"})
	if err := os.Symlink("a.csv", filepath.Join(raw, "link.csv")); err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestPreparation prepares as MLE-bench's preparers do: it reads raw files, unpacks and
// writes beside them, moves and removes them. The raw files stay as they were.
func TestPreparation(t *testing.T) {
	m, raw := machine(t), rawData(t)
	def := coded(t, `print("told")
(public / NAME).mkdir()
(public / NAME / "c.txt").write_text((raw / "deep" / "b.txt").read_text() * 2)
(raw / "new.txt").write_text("new")
shutil.move(raw / "new.txt", public / "new.txt")
shutil.move(raw / "a.csv", private / "test.csv")
shutil.copytree(raw / "deep", public / "deep")
(public / "where.txt").write_text(str(public))
(public / "environment.txt").write_text(" ".join(sorted(os.environ)))
shutil.rmtree(raw)`, "return 0.0", "")
	t.Setenv("API_TOKEN", "canary")
	got, err := prepared(t, m, def, raw)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"private/test.csv": "id\n1\n", "public/deep/": "", "public/deep/b.txt": "b\n", "public/new.txt": "new", "public/pond/": "", "public/pond/c.txt": "b\nb\n",
		"public/where.txt":       "/competition/prepared/public",
		"public/environment.txt": "HOME LANG PATH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED TMPDIR TZ VIRTUAL_ENV",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"a.csv": "id\n1\n", "deep/b.txt": "b\n", "link.csv": "id\n1\n"} {
		if data, err := os.ReadFile(filepath.Join(raw, name)); string(data) != text {
			t.Errorf("raw/%s is %q, %v", name, data, err)
		}
	}
}

// TestHostilePreparation runs code that does what it must not. It fails, or its act has no
// effect; nothing outside changes.
func TestHostilePreparation(t *testing.T) {
	m := machine(t)
	secret := filepath.Join(t.TempDir(), "answers-of-another.csv")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ code, more, want string }{
		"writes to a raw file":      {`open(raw / "a.csv", "w").write("x")`, "", "Read-only file system"},
		"appends to the real file":  {`open(os.path.realpath(raw / "a.csv"), "a").write("x")`, "", "Read-only file system"},
		"removes the real file":     {`os.remove(os.path.realpath(raw / "a.csv"))`, "", "Read-only file system"},
		"reads another's file":      {`(public / "stolen").write_text(open("` + secret + `").read())`, "", "No such file"},
		"writes to the system":      {`open("/usr/bin/python-evil", "w")`, "", "Error"},
		"asks the network":          {`socket.create_connection(("127.0.0.1", 22), timeout=5)`, "", "Error"},
		"asks for a name":           {`socket.getaddrinfo("example.org", 80)`, "", "gaierror"},
		"never ends":                {`while True: time.sleep(1)`, `prepare_timeout = "2s"`, "timed_out"},
		"takes all memory":          {"x = []\nwhile True: x.append(b'x' * (1 << 20))", "memory_mib = 256", ""},
		"exits":                     {`sys.exit(3)`, "", "status 3"},
		"leaves a link to a secret": {`(public / "x").symlink_to("` + secret + `")`, "", "left the link public/x"},
		"leaves a link to a system": {`(public / "x").symlink_to("/etc/passwd")`, "", "left the link public/x"},
		"leaves a link to answers":  {"(private / 'test.csv').write_text('1')\n(public / 'x').symlink_to('../private/test.csv')", "", "left the link public/x"},
		"leaves a linked folder":    {`(public / "x").symlink_to("/etc")`, "", "left the link public/x"},
		"leaves a pipe":             {`os.mkfifo(public / "x")`, "", "neither a file nor a folder"},
		"replaces its folder":       {"shutil.rmtree(public)\npublic.symlink_to('/etc')", "", "left the link public"},
		"imports what is not there": {`import no_such_module`, "", "No module named"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := rawData(t)
			files, err := prepared(t, m, coded(t, c.code, "return 0.0", c.more), raw)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", files, err, c.want)
			}
			for name, text := range map[string]string{filepath.Join(raw, "a.csv"): "id\n1\n", secret: "secret"} {
				if data, err := os.ReadFile(name); string(data) != text {
					t.Errorf("%s is %q, %v", name, data, err)
				}
			}
		})
	}
	t.Run("leaves processes", func(t *testing.T) {
		code := "subprocess.Popen(['sh', '-c', 'while :; do date >> \"$0\"; done', str(public / 'late.txt')], start_new_session=True)\n(public / 'x').write_text('x')"
		p := &program.Preparation{Machine: m, Raw: rawData(t), Work: t.TempDir()}
		if err := p.Run(t.Context(), coded(t, code, "return 0.0", "")); err != nil {
			t.Fatal(err)
		}
		size := func() (n int) {
			if err := p.Each(func(string) error { return nil }, func(_ string, from fs.FS, name string) error {
				data, err := fs.ReadFile(from, name)
				n += len(data)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if first, second := size(), size(); first != second {
			t.Error("a process still writes")
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestClosedRaw prepares raw files that only their owner can read.
func TestClosedRaw(t *testing.T) {
	raw := rawData(t)
	if err := errors.Join(os.Chmod(filepath.Join(raw, "a.csv"), 0o600), os.Chmod(filepath.Join(raw, "deep"), 0o700)); err != nil {
		t.Fatal(err)
	}
	got, err := prepared(t, machine(t), coded(t, `(public / "all").write_text((raw / "a.csv").read_text() + (raw / "deep/b.txt").read_text())`, "return 0.0", ""), raw)
	if want := map[string]string{"public/all": "id\n1\nb\n"}; err != nil || !cmp.Equal(want, got) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestRawLinks refuses raw data with links that lead out of them.
func TestRawLinks(t *testing.T) {
	raw := rawData(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(raw, "out.csv")); err != nil {
		t.Fatal(err)
	}
	if _, err := prepared(t, machine(t), coded(t, "pass", "return 0.0", ""), raw); err == nil || !strings.Contains(err.Error(), "leads out of the raw data") {
		t.Errorf("got %v", err)
	}
}

// TestNoExecutor runs nothing where nothing may run.
func TestNoExecutor(t *testing.T) {
	if _, err := prepared(t, program.Machine{}, coded(t, "pass", "return 0.0", ""), rawData(t)); err == nil || !strings.Contains(err.Error(), "not run here") {
		t.Errorf("got %v", err)
	}
}

// TestGrade grades by code that returns, prints and raises what it can. What a submission
// can cause makes it invalid; any other failure stops.
func TestGrade(t *testing.T) {
	if os.Getenv("MLEFLOW_PYTHON") == "" {
		t.Skip("MLEFLOW_PYTHON names no Python with pandas")
	}
	m := machine(t)
	for name, c := range map[string]struct{ code, score, reason, failure string }{
		"a float":                {"return 0.1234567", "0.12346", "", ""},
		"a half":                 {"return 0.000005", "1e-05", "", ""},
		"a half of numpy":        {"import numpy\nreturn numpy.float64(0.000005)", "0.0", "", ""},
		"a float of 32 bits":     {"import numpy\nreturn numpy.float32(0.5)", "0.5", "", ""},
		"an integer":             {"return 3", "3.0", "", ""},
		"an integer of numpy":    {"import numpy\nreturn numpy.int64(7)", "7.0", "", ""},
		"a boolean":              {"return True", "1.0", "", ""},
		"a boolean of numpy":     {"import numpy\nreturn numpy.bool_(False)", "0.0", "", ""},
		"not a number":           {"return float('nan')", `"nan"`, "", ""},
		"infinity":               {"return -float('inf')", `"-inf"`, "", ""},
		"prints":                 {"import os\nprint('{\"score\": 9}')\nos.system('echo lots')\nreturn 0.5", "0.5", "", ""},
		"None":                   {"return None", "", "", "NoneType"},
		"a string":               {"return '0.5'", "", "", "not a number"},
		"an array":               {"import numpy\nreturn numpy.array([0.5])", "", "", "not a number"},
		"a complex number":       {"import numpy\nreturn numpy.complex128(1)", "", "", "not a number"},
		"an object":              {"class T:\n    def __float__(self): return 0.5\nreturn T()", "", "", "not a number"},
		"invalid":                {"raise InvalidSubmissionError('too short')", "", "too short", ""},
		"invalid without a word": {"raise InvalidSubmissionError", "", "refuses it", ""},
		"invalid with braces":    {"raise InvalidSubmissionError('{\"score\": 1}')", "", `{"score": 1}`, ""},
		"a value error":          {"raise ValueError('not in range')", "", "ValueError: not in range", ""},
		"an assertion":           {"assert len(submission) == 99", "", "AssertionError", ""},
		"a missing column":       {"return submission['no such']", "", "KeyError", ""},
		"a wrong name":           {"return no_such_name", "", "", "no_such_name"},
		"a missing package":      {"import no_such_package", "", "", "no_such_package"},
		"a missing file":         {"open('no-such-file')", "", "", "no-such-file"},
		"exits quietly":          {"import sys\nsys.exit(0)", "", "", "print one object"},
		"is killed":              {"import os\nos.kill(os.getpid(), 9)", "", "", "run metric"},
		"the answers are there":  {"return float(len(answers) + len(submission) * 10)", "21.0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{"submission.csv": "id,x\n1,2\n3,4\n", "answers.csv": "id,x\n1,2\n"})
			def := coded(t, "pass", c.code, "")
			r, err := grading.Local{Metrics: metric.All(), Executor: m.Executor, Packages: m.Packages}.Grade(t.Context(), def, grading.Request{
				Submission: filepath.Join(dir, "submission.csv"), Answers: filepath.Join(dir, "answers.csv"),
			})
			switch {
			case c.failure != "":
				if err == nil || !strings.Contains(err.Error(), c.failure) {
					t.Errorf("got %+v, %v; want a failure with %q", r, err, c.failure)
				}
			case err != nil:
				t.Error(err)
			case c.reason != "":
				if r.Outcome != outcome.Invalid || !strings.Contains(r.Reason, c.reason) {
					t.Errorf("got %s, %q", r.Outcome, r.Reason)
				}
			default:
				if text, err := r.Score.MarshalJSON(); err != nil || string(text) != c.score {
					t.Errorf("got %s, %v; want %s", text, err, c.score)
				}
			}
		})
	}
}

// TestDigest changes with any file beside the code: it is a part of keys.
func TestDigest(t *testing.T) {
	def, dir := coded(t, "pass", "return 0.0", ""), t.TempDir()
	if err := program.Lay(def, dir); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"mlebench/__init__.py", "mlebench/_tools.py", "mlebench/competitions/__init__.py", "mlebench/competitions/ponds/grade.py", "mlebench/competitions/ponds/names.py",
		"mlebench/competitions/ponds/prepare.py", "mlebench/competitions/utils.py", "mlebench/grade_helpers.py", "mlebench/metrics.py", "mlebench/utils.py",
		"mledojo/__init__.py", "mledojo/competitions/__init__.py", "mledojo/competitions/utils.py", "mledojo/metrics/__init__.py", "mledojo/metrics/base.py", "run.py",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := program.Lay(def, dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if a, b := program.Digest(), program.Digest(); !bytes.Equal(a[:], b[:]) || slices.Max(a[:]) == 0 {
		t.Errorf("digests %v and %v", a, b)
	}
}
