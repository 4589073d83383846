package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// Deps are the parts of the program that the kind needs.
type Deps struct {
	// Machine runs commands and fetches bases. Images without commands, whose
	// base is a file, need none.
	Machine image.Machine
	// Private are folders of this machine whose files must never get into an image,
	// such as the cache.
	Private []string
}

// Kind returns the step kind "image".
func Kind(deps Deps) step.Kind {
	args := arguments{Run: [][]string{}, MaxSize: "64GiB", Network: &network{Allow: []string{}}}
	return step.Kind{
		Name:      "image",
		Version:   "1",
		Doc:       "Builds a container image for agents, without Docker, from a base, files, texts, outputs of steps, and commands run in containers as root. An agent block uses it as image = step.image.NAME.image. It never has private files.",
		Varies:    true,
		Untrusted: true,
		Args:      step.Attrs(args, nil),
		Blocks:    step.Blocks(args, nil),
		Outputs: []step.Output{
			{Name: "digest", Type: cty.String, Doc: "Digest of the image's manifest, sha256:…."},
			{Name: "image", Type: step.ArtifactType, Doc: "The image as an OCI archive, a blob."},
		},
		New: func(args step.Args) (step.Step, error) { return newBuild(args, deps) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Base        *string                   `cty:"base" doc:"The base: the path (starting with \"/\" or \".\") of an OCI layout or archive, or of a root file system in an uncompressed tar; NAME@sha256:… in a registry; or local:NAME@sha256:… in containerd's store. Without base and base_content the image starts empty."`
	BaseContent *step.Artifact            `cty:"base_content" doc:"The base as a step's output: an image, an OCI layout, or a root file system in an uncompressed tar."`
	Files       map[string]string         `cty:"files" doc:"Files and folders of this machine by their path in the image, relative to the working directory. The key has their contents and whether they are executable."`
	Texts       map[string]string         `cty:"texts" doc:"Text files by their path in the image. One that starts with \"#!\" is executable."`
	Contents    map[string]*step.Artifact `cty:"contents" doc:"Outputs of steps by their path in the image."`
	Run         [][]string                `cty:"run" doc:"Commands, each a program and its arguments, run in order as root in the image so far. Each adds a layer."`
	Env         map[string]string         `cty:"env" doc:"Environment variables for commands and agents, stored in the image: no secrets."`
	MaxSize     string                    `cty:"max_size" is:"cosmetic" doc:"The most that the image takes unpacked, base included, such as \"100GiB\". A larger one is an error as it is read or written."`
	Workdir     *string                   `cty:"workdir" doc:"Working directory of the image."`
	User        *string                   `cty:"user" doc:"User of the image elsewhere; agent-run sets the agents' user."`
	Network     *network                  `cty:"network" block:"What the commands may reach; nothing without this block."`
}

type network struct {
	Allow []string `cty:"allow" doc:"\"host:port\", \"*.domain:port\" or \"address:port\", reached through a proxy that the usual environment variables name. The log has the connections."`
	Open  bool     `cty:"open" doc:"The machine's network."`
}

// build is one instance of the kind.
type build struct {
	args   arguments
	deps   Deps
	limits executor.Limits
	// most is the maximum size of the image in bytes.
	most int64
	// policy lists the servers that commands can reach through the proxy; nil is none.
	policy *proxy.Policy
	// key is the digest of the base and the files at the time of the plan.
	key string
}

func newBuild(args step.Args, deps Deps) (step.Step, error) {
	b := &build{deps: deps}
	if err := args.Decode(&b.args); err != nil {
		return nil, err
	}
	b.limits = executor.Limits{MemoryBytes: args.Limits.MemoryBytes, CPUs: args.Limits.CPUs, LogBytes: logBytes}
	return b, errors.Join(
		step.WrongArg("base", b.checkBase()), step.WrongArg("max_size", b.checkSize()), b.checkPlaces(), step.WrongArg("files", b.checkFiles()),
		step.WrongArg("run", b.checkRun()), step.WrongArg("network", b.checkNetwork()),
	)
}

func (b *build) checkBase() error {
	switch {
	case b.args.Base != nil && b.args.BaseContent != nil:
		return errors.New("give base or base_content, not both")
	case b.args.Base != nil && *b.args.Base == "":
		return errors.New("base is empty; leave it out for an empty image")
	case len(b.args.Run) > 0 && b.args.Base == nil && b.args.BaseContent == nil:
		return errors.New("run needs a base image with programs; set base or base_content")
	}
	return nil
}

func (b *build) checkSize() (err error) {
	if b.most, err = step.ParseSize(b.args.MaxSize); err == nil && b.most < 1 {
		err = errors.New("it must be at least 1 byte")
	}
	return err
}

// checkPlaces checks the paths in the image.
func (b *build) checkPlaces() error {
	taken := map[string]string{}
	var all error
	for _, list := range []struct {
		arg   string
		paths []string
	}{{"files", keys(b.args.Files)}, {"texts", keys(b.args.Texts)}, {"contents", keys(b.args.Contents)}} {
		for _, p := range list.paths {
			var err error
			switch other, found := taken[path.Clean(p)]; {
			case !path.IsAbs(p) || slices.Contains(strings.Split(p, "/"), ".."):
				err = fmt.Errorf("%q is not a path in the image: write an absolute one without \"..\"", p)
			case found:
				err = fmt.Errorf("%q is also given by %s", p, other)
			}
			taken[path.Clean(p)] = list.arg
			all = errors.Join(all, step.WrongArg(list.arg, err))
		}
	}
	return all
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (b *build) checkRun() error {
	for _, command := range b.args.Run {
		if len(command) == 0 || command[0] == "" {
			return errors.New("a command is empty; each is a program and its arguments, such as [\"sh\", \"-c\", \"…\"]")
		}
	}
	return nil
}

func (b *build) checkNetwork() (err error) {
	n := b.args.Network
	switch {
	case n == nil:
		return nil
	case len(b.args.Run) == 0:
		return errors.New("there are no commands that could use the network; remove the block or add run")
	}
	b.policy, err = proxy.PolicyOf(n.Allow, n.Open)
	return err
}

// checkFile rejects a path that is, is in, or contains a private folder: one of
// Deps.Private, or the private half of prepared data. A path that does not
// exist is not rejected here.
func (b *build) checkFile(name string) error {
	real, err := resolved(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, dir := range b.deps.Private {
		private, err := resolved(dir)
		if err == nil && (checkout.Below(real, private) || checkout.Below(private, real)) {
			return fmt.Errorf("%w: %s", errPrivate, dir)
		}
	}
	if strings.Contains(filepath.ToSlash(real)+"/", "/prepared/private/") {
		return fmt.Errorf("%w: the private half of prepared data", errPrivate)
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "private" && filepath.Base(filepath.Dir(path)) == "prepared" {
			return fmt.Errorf("%w: %s", errPrivate, path)
		}
		return err
	})
}

// resolved returns the absolute path with links resolved.
func resolved(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// logBytes limits the log of a command's output; the rest is dropped.
const logBytes = 64 << 20

// Authored implements step.Authored.
func (b *build) Authored() []string { return []string{"base and files"} }

// Fingerprint implements step.Fingerprinter. The arguments have paths and names; the
// recipe's own key covers their contents.
func (b *build) Fingerprint(h *digest.Hasher) error {
	var err error
	if b.key, err = (&image.Builder{Machine: b.deps.Machine}).Key(image.Recipe{Files: b.files(), Base: step.Text(b.args.Base)}); err != nil {
		return err
	}
	h.String("base and files", b.key)
	return nil
}

// files returns the local files and literal texts, by destination.
func (b *build) files() []image.File {
	var list []image.File
	for _, place := range keys(b.args.Files) {
		list = append(list, image.File{Guest: place, Host: b.args.Files[place]})
	}
	for _, place := range keys(b.args.Texts) {
		f := image.File{Guest: place, Text: b.args.Texts[place], Mode: 0o644}
		if len(f.Text) > 1 && f.Text[:2] == "#!" {
			f.Mode = 0o755
		}
		list = append(list, f)
	}
	return list
}

// Run implements step.Step.
func (b *build) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if err := b.checkFiles(); err != nil {
		return nil, err
	}
	r, err := b.recipe(ctx, env)
	if err != nil {
		return nil, err
	}
	work := &progress.Work{}
	defer env.Follow(work)()
	builder := image.Builder{Work: work, Dir: filepath.Join(env.WorkDir, "made"), Machine: b.deps.Machine, MaxBytes: b.most, Equip: func(run *image.Run) { b.equip(env, run) }}
	made, err := builder.Build(ctx, r, env.Log)
	if err != nil {
		if errors.Is(err, image.ErrTooLarge) {
			return nil, fmt.Errorf("%w; raise max_size if this is intended", err)
		}
		// A failure of the network or the daemon may be temporary. The author of the
		// step says so with a retry block.
		return nil, step.Retryable(err, 0)
	}
	planned := b.key
	if err := b.Fingerprint(digest.NewHasher("", "")); err != nil || planned != "" && b.key != planned {
		return nil, errors.Join(image.ErrChanged, err)
	}
	ref, err := store(ctx, env.Store, made.Path, work)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(env.Log, "image %s, %d bytes\n", made.Digest, ref.Size)
	out := cache.Outputs{"image": {Ref: ref}}
	return out, out.Encode(map[string]any{"digest": made.Digest})
}

// recipe places the outputs of other steps and returns the recipe of the image.
func (b *build) recipe(ctx context.Context, env *step.Env) (image.Recipe, error) {
	r := image.Recipe{
		Files: b.files(), Commands: b.args.Run, Network: b.args.Network != nil && b.args.Network.Open,
		Config: image.Config{Env: b.args.Env, Dir: step.Text(b.args.Workdir), User: step.Text(b.args.User)},
		Base:   step.Text(b.args.Base),
	}
	place := func(a *step.Artifact, name string) (string, error) {
		at := filepath.Join(env.WorkDir, name)
		if _, err := tree.Materialise(ctx, env.Store, a.Ref, at, tree.Options{Mode: tree.Link}); err != nil {
			return "", fmt.Errorf("place %s of %s: %w", a.Output, a.From, err)
		}
		return at, nil
	}
	var err error
	if b.args.BaseContent != nil {
		if r.Base, err = place(b.args.BaseContent, "base"); err != nil {
			return r, err
		}
	}
	for i, guest := range keys(b.args.Contents) {
		host, err := place(b.args.Contents[guest], fmt.Sprintf("content-%d", i))
		if err != nil {
			return r, err
		}
		r.Files = append(r.Files, image.File{Guest: guest, Host: host})
	}
	return r, nil
}

// certificateVariables are the variables in which the usual programs look for
// certificates.
var certificateVariables = []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE"}

// certificatesPath is below /dev, which is not part of an image.
const certificatesPath = "/dev/mleflow-certificates.crt"

// equip sets a command's limits and network.
func (b *build) equip(env *step.Env, run *image.Run) {
	fmt.Fprintf(env.Log, "run %q\n", run.Command)
	run.Limits, run.Env = b.limits, map[string]string{}
	if b.policy != nil {
		p := proxy.New(proxy.Options{Allow: b.policy, Record: func(c proxy.Conn) {
			fmt.Fprintf(env.Log, "network: %s %s:%d %s %s (%d bytes up, %d down)\n", c.Verdict, c.Host, c.Port, c.Method, c.Reason, c.Up, c.Down)
		}})
		run.Services = append(run.Services, p.Service())
	}
	if b.policy == nil && !run.Network {
		return
	}
	bundle, err := filepath.Abs(os.Getenv("SSL_CERT_FILE"))
	if info, bad := os.Stat(bundle); err != nil || bad != nil || !info.Mode().IsRegular() {
		return
	}
	run.Mounts = append(run.Mounts, executor.Mount{Host: bundle, Guest: certificatesPath, ReadOnly: true})
	for _, name := range certificateVariables {
		run.Env[name] = certificatesPath
	}
}

// store stores the layout as an archive.
func store(ctx context.Context, s cache.Store, dir string, work *progress.Work) (cache.Ref, error) {
	ref, err := cache.PutWritten(ctx, s, cache.Ref{}, func(w io.Writer) error {
		return image.WriteArchive(ctx, w, dir, "storing the image", work)
	})
	if err != nil {
		return cache.Ref{}, fmt.Errorf("keep image: %w", err)
	}
	return ref, nil
}

// errPrivate means that a file must not get into an image.
var errPrivate = errors.New("it is or contains private files")

// checkFiles rejects files of this machine that may contain answers.
func (b *build) checkFiles() error {
	if base := step.Text(b.args.Base); image.IsFile(base) {
		if err := b.checkFile(base); err != nil {
			return fmt.Errorf("%s cannot be the base of an image: %w", base, err)
		}
	}
	for _, place := range slices.Sorted(maps.Values(b.args.Files)) {
		if place == "" {
			return errors.New("a path on this machine is empty")
		}
		if err := b.checkFile(place); err != nil {
			return fmt.Errorf("%s cannot be put into an image: %w", place, err)
		}
	}
	return nil
}
