package pyenv

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// uvVersion is the version of uv that is fetched if there is none. uvHashes are the
// SHA-256 digests of its wheels: Linux on amd64 and arm64 (with musl too), macOS on
// arm64 and amd64, Linux with musl on amd64.
const uvVersion = "0.13.9"

var uvHashes = []string{
	"d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19", "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
	"66c512266d633bef48384a1f53003f41f2a8e7b36fe6e7fbfd3e0fd52d96fa63", "c16ed11e013557536b3e60065f1b912f6407bd6518e041b961e23ef9e6b4fbf5",
	"2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
}

// maxUV limits the size of the program in a wheel.
const maxUV = 256 << 20

// UVVariable is the variable with the path of the uv to use.
const UVVariable = "MLEFLOW_UV"

// Options configure uv.
type Options struct {
	// Dir is a permanent folder for the packages that uv fetches and, if it is fetched,
	// for uv itself.
	Dir    string
	Python Interpreter
	// Offline means that the network must not be used.
	Offline bool
	// Say is called with each line of uv's output.
	Say func(line string)
}

// Tool runs uv.
type Tool struct {
	path string
	o    Options
}

// Open finds uv or fetches it.
func Open(ctx context.Context, o Options) (*Tool, error) {
	t := &Tool{o: o}
	if t.path = os.Getenv(UVVariable); t.path != "" {
		return t, checkUV(ctx, t.path, UVVariable+" names")
	}
	if path, err := exec.LookPath("uv"); err == nil {
		t.path = path
		return t, checkUV(ctx, path, "PATH has")
	}
	t.path = filepath.Join(o.Dir, "uv-"+uvVersion)
	if _, err := os.Stat(t.path); err == nil {
		return t, nil
	}
	if o.Offline {
		return nil, errors.New("uv, which installs packages, is not on this machine, and --offline forbids to fetch it: put it in PATH, or apply once with the network")
	}
	o.Say("fetch uv " + uvVersion)
	if err := fetchUV(ctx, o.Dir, t.path, o.Python); err != nil {
		return nil, fmt.Errorf("get uv, which installs packages: %w. Install uv and put it in PATH, or install pip so that mleflow can fetch it (Debian: apt-get install python3-pip)", err)
	}
	return t, nil
}

// leastUV is the first version of uv that supports all the options used here.
var leastUV = [3]int{0, 4, 23}

// checkUV rejects a program that is not uv or is too old. found describes how it was
// found.
func checkUV(ctx context.Context, path, found string) error {
	advice := fmt.Sprintf("install uv %d.%d.%d or later, or take it away and mleflow fetches %s", leastUV[0], leastUV[1], leastUV[2], uvVersion)
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s, which is no uv: %s --version: %w; %s", found, path, path, failure(ctx, err, string(out)), advice)
	}
	var is [3]int
	if n, _ := fmt.Sscanf(string(out), "uv %d.%d.%d", &is[0], &is[1], &is[2]); n != 3 {
		return fmt.Errorf("%s %s, which is no uv: %s --version printed %.80q; %s", found, path, path, out, advice)
	}
	if slices.Compare(is[:], leastUV[:]) < 0 {
		return fmt.Errorf("%s %s, a uv %d.%d.%d, which is too old; %s", found, path, is[0], is[1], is[2], advice)
	}
	return nil
}

// fetchUV has pip fetch the wheel, because pip knows the package index and how to reach
// it.
func fetchUV(ctx context.Context, dir, to string, python Interpreter) error {
	tmp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	wanted := "uv==" + uvVersion
	for _, sum := range uvHashes {
		wanted += " --hash=sha256:" + sum
	}
	list := filepath.Join(tmp, "uv.txt")
	if err := os.WriteFile(list, []byte(wanted+"\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python.Path, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary", ":all:", "--require-hashes", "--dest", tmp, "--requirement", list)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s -m pip download: %w", filepath.Base(python.Path), failure(ctx, err, string(out)))
	}
	wheels, err := filepath.Glob(filepath.Join(tmp, "uv-*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("pip fetched %d wheels", len(wheels))
	}
	program, err := programIn(wheels[0])
	if err != nil {
		return fmt.Errorf("unpack uv: %w", err)
	}
	fresh := filepath.Join(tmp, "uv")
	if err := os.WriteFile(fresh, program, 0o755); err != nil {
		return err
	}
	return os.Rename(fresh, to)
}

func programIn(wheel string) ([]byte, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".data/scripts/uv") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, maxUV))
	}
	return nil, errors.New("the wheel has no program")
}

// Lock resolves a file of requirements in dir into a lock that names every package with
// its version and hashes.
func (t *Tool) Lock(ctx context.Context, dir, requirements string) (string, error) {
	t.o.Say("resolve " + requirements)
	out := filepath.Join(dir, "resolved.txt")
	if err := t.run(ctx, dir, "pip", "compile", requirements, "--generate-hashes", "--no-header", "--no-annotate", "--emit-index-url", "--emit-find-links", "--python", t.o.Python.Path, "--only-binary", ":all:", "--output-file", out); err != nil {
		return "", fmt.Errorf("resolve %s: %w", requirements, err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return "", err
	}
	asked, err := os.ReadFile(filepath.Join(dir, requirements))
	return keepAddresses(string(text), string(asked)), err
}

// address matches a line of a lock with an address of packages.
var address = pattern.New(`(?m)^--(?:index-url|extra-index-url|find-links) (\S+).*\n`)

// keepAddresses removes from a lock the addresses that the requirements do not contain.
// They come from this machine's variables and may contain passwords.
func keepAddresses(lock, requirements string) string {
	return address.Regexp().ReplaceAllStringFunc(lock, func(line string) string {
		if named := address.Regexp().FindStringSubmatch(line)[1]; strings.Contains(requirements, named) {
			return line
		}
		return ""
	})
}

// Install installs a lock. The packages go to dir/site-packages, their programs to
// dir/bin.
func (t *Tool) Install(ctx context.Context, work, dir, lock string) error {
	file, venv := filepath.Join(work, "lock.txt"), filepath.Join(work, "venv")
	if err := os.WriteFile(file, []byte(lock), 0o600); err != nil {
		return err
	}
	if err := t.run(ctx, work, "venv", "--relocatable", "--no-project", "--python", t.o.Python.Path, venv); err != nil {
		return fmt.Errorf("make a virtual environment: %w", err)
	}
	before, err := os.ReadDir(filepath.Join(venv, "bin"))
	if err != nil {
		return err
	}
	t.o.Say("install packages")
	err = t.run(ctx, work, "pip", "install", "--python", filepath.Join(venv, "bin", "python"), "--require-hashes", "--no-deps", "--only-binary", ":all:",
		"--link-mode", "copy", "--requirement", file)
	if err != nil {
		return fmt.Errorf("install packages: %w", err)
	}
	for _, e := range before { // the interpreter and the activation scripts
		if err := os.RemoveAll(filepath.Join(venv, "bin", e.Name())); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	site := filepath.Join(dir, "site-packages")
	err = errors.Join(os.Rename(filepath.Join(venv, "bin"), filepath.Join(dir, "bin")),
		os.Rename(filepath.Join(venv, "lib", "python"+t.o.Python.Minor(), "site-packages"), site))
	if err != nil {
		return err
	}
	return t.o.Python.compile(ctx, site)
}

// compile creates the bytecode of packages. Unlike uv's, it is the same on every
// machine and in every folder: it has one process, a fixed hash seed, no times, and
// paths as an isolated agent sees them. Files that are not valid in this version of
// Python are not compiled.
func (i Interpreter) compile(ctx context.Context, site string) error {
	cmd := exec.CommandContext(ctx, i.Path, "-s", "-S", "-W", "ignore", "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash",
		"-d", filepath.Join(Guest, "lib", "python"+i.Minor(), "site-packages"), site)
	cmd.Env = []string{"PYTHONHASHSEED=0", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err == nil || ctx.Err() == nil && errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	return fmt.Errorf("compile packages: %w", failure(ctx, err, string(out)))
}

func (t *Tool) run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Dir, cmd.Env = dir, t.environment()
	var out bytes.Buffer
	lines := &lineSayer{say: t.o.Say}
	both := io.MultiWriter(&out, lines)
	cmd.Stdout, cmd.Stderr = both, both
	err := cmd.Run()
	lines.flush()
	if err != nil {
		return failure(ctx, err, out.String())
	}
	return nil
}

// environment returns uv's environment. It is the caller's, with pip's index if uv has
// none of its own.
func (t *Tool) environment() []string {
	env := os.Environ()
	if t.o.Offline {
		env = append(env, "UV_OFFLINE=1")
	}
	for _, like := range [][2]string{{"UV_DEFAULT_INDEX", "PIP_INDEX_URL"}, {"UV_INDEX", "PIP_EXTRA_INDEX_URL"}, {"SSL_CERT_FILE", "PIP_CERT"}} {
		if value := os.Getenv(like[1]); value != "" && os.Getenv(like[0]) == "" {
			env = append(env, like[0]+"="+value)
		}
	}
	return append(env, "UV_CACHE_DIR="+filepath.Join(t.o.Dir, "packages"), "UV_NO_CONFIG=1", "UV_NO_PROGRESS=1", "NO_COLOR=1", "VIRTUAL_ENV=", "CONDA_PREFIX=")
}

// credentials matches the credentials in an address. A password may contain any
// character.
var credentials = pattern.New(`//[^\s"']*@`)

// failure is the error of a program, with the last lines of its output and without
// passwords.
func failure(ctx context.Context, err error, printed string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(credentials.Regexp().ReplaceAllString(printed, "//***@")), "\n")
	return fmt.Errorf("%w: %s", err, strings.Join(lines[max(0, len(lines)-5):], " "))
}

// lineSayer passes on complete lines, except the hashes of a lock, which uv prints too.
type lineSayer struct {
	say  func(string)
	held []byte
}

// Write implements io.Writer.
func (l *lineSayer) Write(p []byte) (int, error) {
	l.held = append(l.held, p...)
	for {
		line, rest, ok := bytes.Cut(l.held, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.pass(line)
		l.held = rest
	}
}

func (l *lineSayer) flush() { l.pass(l.held) }

func (l *lineSayer) pass(line []byte) {
	if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "--hash=") {
		l.say(credentials.Regexp().ReplaceAllString(text, "//***@"))
	}
}
