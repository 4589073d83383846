package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// logBytes limits the log of a command's output; the rest is dropped.
const logBytes = 64 << 20

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
	text, err := json.Marshal(made.Digest)
	if err != nil {
		return nil, fmt.Errorf("encode digest: %w", err)
	}
	fmt.Fprintf(env.Log, "image %s, %d bytes\n", made.Digest, ref.Size)
	return cache.Outputs{"image": {Ref: ref}, "digest": {JSON: text}}, nil
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
		service, vars := p.Service()
		run.Services = append(run.Services, service)
		maps.Copy(run.Env, vars)
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
