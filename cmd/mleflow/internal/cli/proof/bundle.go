package proof

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

type bundleOptions struct {
	in        app.InputFlags
	file, key string
}

// NewBundle returns the command bundle.
func NewBundle(a *app.App) *cobra.Command {
	var o bundleOptions
	cmd := a.RunCommand("bundle [RUN] -o FILE", "Write a run to one file that others can check", app.Takes(0, 1),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			if o.file == "" {
				return app.Usagef("name the file to write with -o")
			}
			return writeBundle(cmd.Context(), a, o, past)
		}, &o.in)
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "the `FILE` to write")
	cmd.Flags().StringVar(&o.key, "key", "", "sign with the private key of `FILE`: Ed25519 or ECDSA P-256, PKCS #8 PEM")
	return cmd
}

func writeBundle(ctx context.Context, a *app.App, o bundleOptions, past *history.Past) error {
	var key *bundle.Key
	if o.key != "" {
		var err error
		if key, err = bundle.ReadKey(o.key); err != nil {
			return app.Wrong(err)
		}
	}
	return withSource(a, past, o.in, func(src bundle.Source) error {
		work, stop := a.MeterWork("bundle")
		src.Key, src.Work = key, work
		written, err := bundle.Write(ctx, o.file, src)
		stop()
		if err != nil {
			return err
		}
		return a.Show(written, func() { writeBundleText(a.Terminal, written) })
	})
}

// withSource opens what a bundle or disclosure of a run is made of.
func withSource(a *app.App, past *history.Past, in app.InputFlags, fn func(bundle.Source) error) error {
	a.Network.Offline = true
	return withProgram(a, past, in, func(b *app.Backend, _ *history.Summary, p *engine.Program, hidden []string) error {
		return fn(bundle.Source{
			Past: past, History: b.Options.History, Cache: b.Options.Cache, Graph: p.Graph,
			Folders: bundle.Folders(b.Cache.Dir()),
			Secrets: append(credentialsOf(a.Terminal, p), hidden...),
		})
	})
}

// withProgram opens the engine with the pipeline of a run of this machine, its competitions
// and its remote cache. It passes the strings to hide.
func withProgram(a *app.App, past *history.Past, in app.InputFlags, use func(*app.Backend, *history.Summary, *engine.Program, []string) error) error {
	if err := a.UseRun(past); err != nil {
		return err
	}
	return a.WithBackend(func(b *app.Backend) error {
		sum, errSum := past.Summary()
		sources, err := past.Sources()
		if err := cmp.Or(errSum, err); err != nil {
			return err
		}
		p, hidden, err := recording{past.Info.ID, past.Info.Pipeline, sources, past.Info.Variables, sum}.program(a.Terminal, b.Engine, in)
		if err != nil {
			return err
		}
		if err := a.ReadRemote(b, p.Pipeline.RemoteCache); err != nil {
			return err
		}
		return use(b, sum, p, hidden)
	})
}

// recording is what is recorded of a run's pipeline: its path, the files it read, its
// variables, and the ends of its steps.
type recording struct {
	run, path string
	sources   map[string][]byte
	variables map[string]json.RawMessage
	sum       *history.Summary
}

// program reads the pipeline. Sensitive variables, which are recorded nowhere, come from
// the command line and the environment, or else stay unknown.
func (r recording) program(t *app.Terminal, e *engine.Engine, in app.InputFlags) (*engine.Program, []string, error) {
	text, found := r.sources[filepath.Base(r.path)]
	if !found {
		return nil, nil, fmt.Errorf("run %s has no copy of its pipeline", r.run)
	}
	given, err := recorded(r.run, r.variables)
	if err != nil {
		return nil, nil, err
	}
	inputs := config.Inputs{Environ: t.Environ, Assignments: append(given, in.Assignments...), Files: r.sources, Withheld: true}
	var p *engine.Program
	var diags diag.List
	t.Interrupts.Reading(func() { p, diags = e.Parse(r.path, text, inputs) })
	if !diags.HasErrors() {
		diags = append(diags, p.HoldAs(r.sum)...)
	}
	if err := t.Settle(diags, p); err != nil {
		return nil, nil, err
	}
	values, diags := p.Pipeline.Values(inputs)
	return p, p.Pipeline.Hidden(values), t.Settle(diags, p)
}

// secretNames end the names of environment variables that hold secrets.
var secretNames = []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"}

// credentialsOf are the values of the secrets that this process can see: those
// of the environment, Kaggle's, and those of the agents. They are looked for in
// a bundle, where none should be.
func credentialsOf(t *app.Terminal, p *engine.Program) []string {
	var list []string
	file := func(path string) {
		if text, err := checkout.ReadFile(path, 64<<10); err == nil { // the pipeline may name a pipe or a device
			list = append(list, string(text))
		}
	}
	for _, entry := range t.Environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(secretNames, func(end string) bool { return strings.HasSuffix(strings.ToUpper(name), end) }) {
			list = append(list, value)
		}
	}
	list = append(list, source.KaggleSecrets(t.Env)...)
	folder := secret.In(context.Background(), filepath.Dir(p.Pipeline.Path))
	for _, written := range p.Pipeline.Secrets() {
		if name, found := strings.CutPrefix(written.Ref, "env:"); found {
			list = append(list, t.Env(name))
		} else if ref, err := written.Parse(); err == nil && ref.File(folder) != "" {
			file(ref.File(folder))
		}
	}
	return list
}

func writeBundleText(t *app.Terminal, w *bundle.Written) {
	fmt.Fprintf(t.Stdout, "%s holds run %s: %s, %s.\nmanifest  sha256:%s\n", w.File, w.Run, view.Plural(w.Files, "file"), view.Bytes(w.Bytes), w.Manifest)
	if w.KeyID != "" {
		fmt.Fprintf(t.Stdout, "signed    by key %s\n", w.KeyID)
	} else {
		fmt.Fprintln(t.Stdout, "signed    no; to check it, others need the manifest's digest from you")
	}
	fmt.Fprintf(t.Stdout, "left out  %s, listed in omitted.json\n", view.Plural(len(w.Omitted), "thing"))
	if t.Verbose {
		for _, o := range w.Omitted {
			fmt.Fprintf(t.Stdout, "  %s: %s\n", view.OneLine(o.What), o.Why)
		}
	}
}

// Disclose prints the disclosure of a run.
func Disclose(ctx context.Context, a *app.App, past *history.Past, markdown bool) error {
	return withSource(a, past, app.InputFlags{}, func(src bundle.Source) error {
		d, err := bundle.Disclose(ctx, src)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return app.WriteJSON(a.Stdout, d)
		case markdown:
			fmt.Fprint(a.Stdout, d.Markdown())
			return nil
		}
		for i, s := range d.Sections() {
			if i > 0 {
				fmt.Fprintln(a.Stdout)
			}
			fmt.Fprintln(a.Stdout, a.OutStyle().Bold(s.Title))
			if len(s.Rows) == 0 {
				fmt.Fprintln(a.Stdout, "None.")
				continue
			}
			t := view.NewTable(s.Columns...)
			for _, row := range s.Rows {
				t.Row(row...)
			}
			a.Table(t)
		}
		return nil
	})
}
