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
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// UVVariable is the variable with the path of the uv to use.
const UVVariable = "MLEFLOW_UV"

// Options configure uv.
type Options struct {
	// Dir is a permanent folder for the packages that uv fetches and, if it is fetched,
	// for uv itself.
	Dir string
	// Work is a folder for the exclusive use of this Tool.
	Work   string
	Python Interpreter
	// Sandbox is the runtime in which uv and Python run, with the network of the
	// indexes alone. If it is not available, they run as this user; Say is told so.
	Sandbox executor.Runtime
	// Offline means that the network must not be used.
	Offline bool
	// Say is called with each line of uv's output.
	Say func(line string)
	// Wheels means that the folder "wheels" in Work has wheels.
	Wheels bool
}

// Tool runs uv, and Python on the packages that it installed.
type Tool struct {
	path string
	o    Options
	// indexes are where packages come from, besides the indexes of requirements.
	indexes indexes
}

// Open finds uv or fetches it.
func Open(ctx context.Context, o Options) (*Tool, error) {
	t := &Tool{o: o, indexes: indexesOf(os.Environ())}
	if !t.isolated() {
		o.Say("uv runs without a sandbox, as this user: on a file that mleflow wrote, with wheels only" + t.missing())
	}
	var err error
	if path := os.Getenv(UVVariable); path != "" {
		if t.path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		return t, t.checkUV(ctx, UVVariable+" names")
	}
	if t.path, err = exec.LookPath("uv"); err == nil {
		if err = t.checkUV(ctx, "PATH has"); err == nil {
			return t, nil
		}
		o.Say(err.Error())
	}
	t.path = filepath.Join(o.Dir, "uv-"+uvVersion)
	if _, err := os.Stat(t.path); err == nil {
		return t, nil
	}
	if o.Offline {
		return nil, errors.New("uv, which installs packages, is not on this machine, and --offline forbids to fetch it: put it in PATH, or apply once with the network")
	}
	o.Say("fetch uv " + uvVersion)
	if err = fetchUV(ctx, o.Dir, t.path, o.Python); err != nil {
		return nil, fmt.Errorf("get uv, which installs packages: %w. Install uv and put it in PATH, or install pip so that mleflow can fetch it (Debian: apt-get install python3-pip)", err)
	}
	return t, nil
}

// wheelsOnly are the options for every resolution and installation. A build would run
// code of a package.
var wheelsOnly = []string{"--only-binary", ":all:", "--no-config"}

// options are those of every resolution and installation.
func (t *Tool) options() []string {
	if t.o.Wheels {
		return append([]string{"--find-links", t.at(WheelsFolder)}, wheelsOnly...)
	}
	return wheelsOnly
}

// WheelsFolder is the folder in Options.Work with the wheels that requirements name by
// path.
const WheelsFolder = "wheels"

// Lock resolves requirements into a list that has every package with its version and
// hashes. With pins, each package has the version and the hashes that it has there.
func (t *Tool) Lock(ctx context.Context, asked List, pins *List) (List, error) {
	t.o.Say("resolve the requirements")
	return t.resolve(ctx, asked, pins)
}

func (t *Tool) resolve(ctx context.Context, asked List, pins *List) (List, error) {
	if err := t.write("requirements.txt", asked.String()); err != nil {
		return List{}, err
	}
	args := append([]string{"pip", "compile", t.at("requirements.txt"), "--generate-hashes", "--no-header", "--no-annotate", "--python", t.o.Python.Path,
		"--output-file", t.at("resolved.txt")}, t.options()...)
	if pins != nil {
		var all List
		for _, p := range pins.Packages {
			all.Packages = append(all.Packages, Package{Name: p.Name, Specifier: p.Specifier})
		}
		if err := t.write("pins.txt", all.String()); err != nil {
			return List{}, err
		}
		args = append(args, "--constraint", t.at("pins.txt"))
	}
	if err := t.run(ctx, asked.Indexes, args...); err != nil {
		return List{}, fmt.Errorf("resolve the requirements: %w", err)
	}
	text, err := nolink.ReadFile(filepath.Join(t.o.Work, "resolved.txt"))
	if err != nil {
		return List{}, err
	}
	resolved, err := Parse("resolved.txt", string(text))
	if err != nil {
		return List{}, fmt.Errorf("read what uv resolved: %w", err)
	}
	resolved.Indexes = asked.Indexes
	return resolved, resolved.pin(asked, pins)
}

// pin restricts the hashes of resolved packages to those of pins and of the
// requirements.
func (l List) pin(asked List, pins *List) error {
	for _, from := range []*List{&asked, pins} {
		if from == nil {
			continue
		}
		known := from.byKey()
		for i, p := range l.Packages {
			want, ok := known[p.Key()]
			if !ok && from == pins {
				return fmt.Errorf("it lacks %s, which the requirements need", p.Name)
			}
			if from == pins || len(want.Hashes) > 0 {
				l.Packages[i].Hashes = slices.DeleteFunc(slices.Clone(want.Hashes), func(sum string) bool {
					return from != pins && !slices.Contains(p.Hashes, sum)
				})
				if len(l.Packages[i].Hashes) == 0 {
					return fmt.Errorf("%s: no wheel has one of the hashes that it must have", p.Name)
				}
			}
		}
	}
	return nil
}

// Verify refuses a lock that is not what the requirements resolve to with the versions
// of the lock: one that lacks a package, has another version than was asked for, or a
// package that nothing asks for.
func (t *Tool) Verify(ctx context.Context, asked, lock List) error {
	t.o.Say("compare the lock with the requirements")
	resolved, err := t.resolve(ctx, asked, &lock)
	if err == nil && !slices.Equal(slices.Sorted(slices.Values(asked.Indexes)), slices.Sorted(slices.Values(lock.Indexes))) {
		err = errors.New("it names other indexes than the requirements")
	}
	known := resolved.byKey()
	for _, p := range lock.Packages {
		if got, ok := known[p.Key()]; err == nil && (!ok || got.Version() != p.Version()) {
			err = fmt.Errorf("nothing asks for %s%s", p.Name, p.Specifier)
		}
	}
	if err != nil {
		return fmt.Errorf("the lock file is not one of these requirements: %w. Delete it, and it is written again", err)
	}
	return nil
}

// Install installs a lock. The packages go to dir/site-packages, their programs to
// dir/bin.
func (t *Tool) Install(ctx context.Context, dir string, lock List) error {
	venv := filepath.Join(t.o.Work, "venv")
	if err := t.write("lock.txt", lock.String()); err != nil {
		return err
	}
	if err := t.run(ctx, nil, "venv", "--relocatable", "--no-project", "--no-config", "--python", t.o.Python.Path, t.at("venv")); err != nil {
		return fmt.Errorf("make a virtual environment: %w", err)
	}
	before, err := os.ReadDir(filepath.Join(venv, "bin"))
	if err != nil {
		return err
	}
	t.o.Say("install packages")
	err = t.run(ctx, lock.Indexes, append([]string{"pip", "install", "--python", t.at("venv/bin/python"), "--require-hashes", "--no-deps",
		"--link-mode", "copy", "--requirement", t.at("lock.txt")}, t.options()...)...)
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
	site := filepath.Join(venv, "lib", "python"+t.o.Python.Minor(), "site-packages")
	if err := t.compile(ctx, site); err != nil {
		return err
	}
	return errors.Join(os.Rename(filepath.Join(venv, "bin"), filepath.Join(dir, "bin")), os.Rename(site, filepath.Join(dir, "site-packages")))
}

// compileScript is the module compileall without the folder in which it is started:
// with -m, and by default with -c, a file of that folder would be taken for a module.
const compileScript = "import sys; del sys.path[0]; import compileall; sys.exit(not compileall.main())"

// compile creates the bytecode of packages. Unlike uv's, it is the same on every
// machine and in every folder: it has one process, a fixed hash seed, no times, and
// paths as an isolated agent sees them. Files that are not valid in this version of
// Python are not compiled.
func (t *Tool) compile(ctx context.Context, site string) error {
	rel, err := filepath.Rel(t.o.Work, site)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	code, err := t.start(ctx, &out, process{env: map[string]string{"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}, argv: []string{
		t.o.Python.Path, "-s", "-S", "-W", "ignore", "-c", compileScript, "-qq", "--invalidation-mode", "unchecked-hash",
		"-d", filepath.Join(Guest, "lib", "python"+t.o.Python.Minor(), "site-packages"), t.at(rel),
	}})
	if err == nil && code > 1 {
		err = fmt.Errorf("exit status %d", code)
	}
	if err != nil {
		return fmt.Errorf("compile packages: %w", failure(ctx, err, out.String()))
	}
	return nil
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
	end := bytes.LastIndexByte(l.held, '\n') + 1
	for line := range bytes.Lines(l.held[:end]) {
		l.pass(line)
	}
	l.held = l.held[end:]
	return len(p), nil
}

func (l *lineSayer) flush() { l.pass(l.held) }

func (l *lineSayer) pass(line []byte) {
	if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "--hash=") {
		l.say(credentials.Regexp().ReplaceAllString(text, "//***@"))
	}
}

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

// leastUV is the first version of uv that supports all the options used here.
var leastUV = [3]int{0, 4, 23}

// checkUV rejects a program that is not uv or is too old. found describes how it was
// found.
func (t *Tool) checkUV(ctx context.Context, found string) error {
	advice := fmt.Sprintf("install uv %d.%d.%d or later, or take it away and mleflow fetches %s", leastUV[0], leastUV[1], leastUV[2], uvVersion)
	var out bytes.Buffer
	uv := t.path
	if t.isolated() {
		uv = guestUV
	}
	code, err := t.start(ctx, &out, process{argv: []string{uv, "--version"}, env: map[string]string{"PATH": executor.DefaultPath}})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d", code)
	}
	if err != nil {
		return fmt.Errorf("%s %s, which is no uv: %s --version: %w; %s", found, t.path, t.path, failure(ctx, err, out.String()), advice)
	}
	var is [3]int
	if n, _ := fmt.Sscanf(out.String(), "uv %d.%d.%d", &is[0], &is[1], &is[2]); n != 3 {
		return fmt.Errorf("%s %s, which is no uv: %s --version printed %.80q; %s", found, t.path, t.path, &out, advice)
	}
	if slices.Compare(is[:], leastUV[:]) < 0 {
		return fmt.Errorf("%s %s, a uv %d.%d.%d, which is too old; %s", found, t.path, is[0], is[1], is[2], advice)
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
	// -I keeps a pip out that is in the folder in which mleflow was started.
	cmd := exec.CommandContext(ctx, python.Path, "-I", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary", ":all:", "--require-hashes", "--dest", tmp, "--requirement", list)
	cmd.Dir = tmp
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
