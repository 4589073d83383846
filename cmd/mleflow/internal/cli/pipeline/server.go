package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// tokenVariable has the token of --server, or where it is.
const tokenVariable = "MLEFLOW_TOKEN"

// SubmittedJSON is what apply --server --detach prints with --json.
type SubmittedJSON struct {
	Submission string `json:"submission"`
}

// serverFlags say that a server applies the pipeline.
type serverFlags struct {
	url, follow string
	priority    int
}

// Register adds the flags.
func (f *serverFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "server", "", "submit the pipeline to the mleflow serve at `URL` and follow it there (env MLEFLOW_TOKEN: the token)")
	cmd.Flags().IntVar(&f.priority, "priority", 0, "with --server, run before submissions of a lower priority `N`; above 0 only an admin of the server may")
	cmd.Flags().StringVar(&f.follow, "follow", "", "with --server, follow the submission `ID` instead")
}

func (f *serverFlags) given() bool { return f.url != "" || f.follow != "" || f.priority != 0 }

// alongside are the flags that mean something with --server.
var alongside = []string{
	"server", "priority", "follow", "detach", "var", "var-file", "target", "force", "retry", "attempt", "rerun", "fork", "parallelism", "keep-going",
	"require-cached", "locked", "full", "fail-on", "name", "tag", "note", "on-interrupt", "json", "no-color", "verbose", "cache-dir",
}

// apply submits the pipeline, and shows its run as that of a local apply.
func (f *serverFlags) apply(cmd *cobra.Command, a *app.App, o applyOptions, args []string) error {
	if f.url == "" {
		return app.Usagef("--follow and --priority go with --server URL")
	}
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(alongside, flag.Name) {
			wrong = app.Usagef("--%s is for this machine, and the server's administrator decides it there; leave it out with --server", flag.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	ctx := cmd.Context()
	token := a.Env(tokenVariable)
	if ref, err := secret.ParseRef(token); err == nil {
		if token, err = ref.Resolve(ctx); err != nil {
			return fmt.Errorf("%s: %w", tokenVariable, err)
		}
	}
	client, err := service.NewClient(f.url, token, a.Warn)
	if err != nil {
		return app.Usagef("--server: %w", err)
	}
	id := f.follow
	if id == "" {
		if id, err = f.submit(ctx, a, o, client, args); err != nil {
			return err
		}
		if o.detach {
			return a.Show(SubmittedJSON{id}, func() { fmt.Fprintln(a.Stdout, id) })
		}
		fmt.Fprintf(a.Stderr, "Submitted: %s (mleflow apply --server %s --follow %s)\n", id, f.url, id)
	} else if o.detach {
		return app.Usagef("--follow and --detach exclude each other")
	} else if len(args) > 0 {
		return app.Usagef("--follow names a submission; leave out the pipeline file")
	}
	a.Interrupts.FollowServer()
	err = followSubmission(ctx, a, client, id)
	if ctx.Err() == nil {
		return err
	}
	if errors.Is(context.Cause(ctx), executor.ErrLeave) {
		fmt.Fprintf(a.Stderr, "Follow it again: mleflow apply --server %s --follow %s\n", f.url, id)
		return err
	}
	late, end := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer end()
	if cancelled := client.Cancel(late, id); cancelled != nil {
		return errors.Join(cancelled, err)
	}
	fmt.Fprintf(a.Stderr, "The server cancels it. To see how it ends: mleflow apply --server %s --follow %s\n", f.url, id)
	return err
}

// submit gathers the pipeline's files and submits them.
func (f *serverFlags) submit(ctx context.Context, a *app.App, o applyOptions, client *service.Client, args []string) (id string, err error) {
	at, err := a.NamedPipeline(args)
	if err != nil {
		return "", err
	}
	a.UsePipeline(at)
	if len(a.OwnFolders()) > 0 {
		return "", app.Usagef("competitions of --competitions and MLEFLOW_COMPETITIONS are not sent: name their folder in the pipeline's mleflow block")
	}
	e, err := a.BareEngine()
	if err != nil {
		return "", err
	}
	p, err := a.Load(e, at, o.in)
	if err != nil {
		return "", err
	}
	if _, err := o.about.About(); err != nil {
		return "", err
	}
	m := service.Manifest{Priority: f.priority, Flags: service.Flags{
		Fork: a.Fork, KeepGoing: o.keepGoing, RequireCached: o.requireCached, Locked: o.locked, Full: o.full, FailOn: o.failOn,
		Parallelism: o.parallelism,
	}}
	m.Flags.Name, m.Flags.Tags, m.Flags.Note = o.about.Written()
	o.sel.Submit(&m.Flags)
	g := gathering{outside: map[string]string{}}
	if err := g.gather(a, p, at); err != nil {
		return "", err
	}
	m.Pipeline = path.Join(g.below, filepath.Base(at))
	if m.Variables, err = g.variables(a, p, o.in); err != nil {
		return "", err
	}
	if m.Files, err = g.files(); err != nil {
		return "", err
	}
	sub, err := client.Submit(ctx, m, func(name string) (io.ReadCloser, error) {
		return g.open(name)
	})
	if err != nil {
		return "", fmt.Errorf("submit to %s: %w", f.url, err)
	}
	return sub.ID, nil
}

// gathering collects the files that a pipeline reads.
type gathering struct {
	// root is the pipeline's folder or, if it reads files above it, the lowest folder with
	// all of them, without links. below is the path from there to the pipeline's folder.
	root, below string
	paths       []string
	// outside are files of variables that are elsewhere, by their paths for the server.
	outside map[string]string
}

func (g *gathering) open(name string) (*os.File, error) {
	if at, ok := g.outside[name]; ok {
		return checkout.Open(at)
	}
	return checkout.Open(filepath.Join(g.root, filepath.FromSlash(name)), g.root)
}

// gather adds everything that the pipeline names.
func (g *gathering) gather(a *app.App, p *engine.Program, at string) error {
	paths, err := p.Pipeline.LocalFiles().Paths()
	if err != nil {
		return app.Usagef("%w: a server gets no other files; copy it there", err)
	}
	if err := g.rise(at, paths); err != nil {
		return err
	}
	for _, name := range []string{at, strings.TrimSuffix(at, filepath.Ext(at)) + ".lock.hcl"} {
		if _, err := os.Stat(name); err == nil {
			paths = append(paths, filepath.Base(name))
		}
	}
	g.paths = lists.Of(paths, func(name string) string { return path.Join(g.below, name) })
	for _, f := range a.Named {
		if err := g.add(f.Path); err != nil {
			return err
		}
	}
	for i, inst := range p.Instances {
		args, diags := p.Args(i)
		if diags.HasErrors() {
			continue // the server says what is wrong
		}
		for _, named := range submitted.Paths(inst.Step.Kind.Name, args) {
			if err := g.add(named.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// rise finds the folder that has all files.
func (g *gathering) rise(at string, paths []string) error {
	dir, err := filepath.Abs(filepath.Dir(at))
	if err != nil {
		return err
	}
	above := 0
	for _, name := range paths {
		n := 0
		for rest := name; strings.HasPrefix(rest, "../"); rest = rest[3:] {
			n++
		}
		above = max(above, n)
	}
	for range above {
		g.below, dir = path.Join(filepath.Base(dir), g.below), filepath.Dir(dir)
	}
	g.root, err = checkout.Follow(dir)
	return err
}

// add adds a file or folder by a path that starts at the working folder.
func (g *gathering) add(name string) error {
	real, err := checkout.Follow(name)
	if err != nil {
		return app.Usagef("%s: %w", name, err)
	}
	rel, err := filepath.Rel(g.root, real)
	if err != nil || !filepath.IsLocal(rel) || !filepath.IsAbs(name) && filepath.Clean(name) != rel {
		return app.Usagef("%s: the server has only the pipeline's folder, in which its paths start: go to %s, and name a file or folder there by a relative path", name, g.root)
	}
	return filepath.WalkDir(real, func(at string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "__pycache__"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(g.root, at)
		g.paths = append(g.paths, filepath.ToSlash(rel))
		return err
	})
}

// variables are the values that were given, in the order in which they count.
func (g *gathering) variables(a *app.App, p *engine.Program, in app.InputFlags) (list []string, err error) {
	add := func(text string) error {
		name, _, _ := strings.Cut(text, "=")
		v := p.Pipeline.Variables[name]
		if v == nil {
			return nil // of another pipeline; Load refuses one of -var
		}
		if v.Sensitive {
			return app.Usagef("the variable %s is sensitive, and a server would keep its value: let its administrator name a secret, and use that by reference", name)
		}
		list = append(list, text)
		return nil
	}
	for _, entry := range a.Environ {
		if text, ok := strings.CutPrefix(entry, "MLEFLOW_VAR_"); ok {
			err = errors.Join(err, add(text))
		}
	}
	for _, given := range in.Assignments {
		if given.File == "" {
			err = errors.Join(err, add(given.Text))
			continue
		}
		name := fmt.Sprintf(".variables-%d%s", len(list), filepath.Ext(given.File))
		g.outside[name], g.paths, list = given.File, append(g.paths, name), append(list, "@"+name)
	}
	return list, err
}

// files hashes what was gathered. Links are followed within the folder.
func (g *gathering) files() (files []service.File, err error) {
	slices.Sort(g.paths)
	for _, name := range slices.Compact(g.paths) {
		f, err := g.open(name)
		if err != nil {
			return nil, app.Usagef("%s cannot be sent: %w", name, err)
		}
		info, err := f.Stat()
		var id digest.ContentID
		var size int64
		if err == nil {
			id, size, err = digest.Copy(io.Discard, f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		files = append(files, service.File{Path: path.Clean(name), Digest: id.String(), Size: size, Executable: info.Mode()&0o100 != 0})
	}
	return files, nil
}

// followSubmission shows a submission to its end, which is the command's.
func followSubmission(ctx context.Context, a *app.App, client *service.Client, id string) error {
	display := app.NewDisplayOn(a, a.Stderr, a.JSON, nil)
	sub, seen, waits := service.Submission{}, 0, ""
	defer display.Close()
	for {
		var err error
		if sub, err = client.Get(ctx, id); err != nil {
			return err
		}
		if sub.Waits != waits && sub.Waits != "" {
			a.Say("Waiting: " + view.OneLine(sub.Waits) + ".")
		}
		waits = sub.Waits
		switch {
		case seen < len(sub.Runs): // a server that died continued it by another run
			err = client.Events(ctx, sub.Runs[seen], func(line []byte) {
				if e, err := event.Decode(line); err == nil {
					display.Emit(e)
				}
			})
			if err != nil {
				return err
			}
			seen++
			continue
		case sub.State.Over():
			display.Close()
			return concludeSubmission(ctx, a, client, sub)
		}
		if err := progress.Sleep(ctx, look); err != nil {
			return err
		}
	}
}

// look is how often a submission that waits is looked at.
const look = time.Second

func concludeSubmission(ctx context.Context, a *app.App, client *service.Client, sub service.Submission) error {
	if !a.JSON {
		if err := client.Print(ctx, sub.ID, false, a.Stdout); err != nil {
			return err
		}
	}
	if sub.Run == "" { // what was wrong before it began
		if err := client.Print(ctx, sub.ID, true, a.Stderr); err != nil {
			return err
		}
	}
	if sub.State == service.Cancelled {
		fmt.Fprintln(a.Stderr, "The submission was cancelled.")
		return app.StatusError{Status: cmp.Or(sub.Exit, 130)}
	}
	if sub.Exit != 0 {
		return fmt.Errorf("%w: %w", app.ErrSilent, app.StatusError{Status: sub.Exit})
	}
	return nil
}
