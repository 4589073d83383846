package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
)

type bundleOptions struct {
	in   app.InputFlags
	file string
	key  string
}

// NewBundle returns the command bundle.
func NewBundle(a *app.App) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:   "bundle [RUN] -o FILE",
		Short: "Write a run to one file that others can check",
		Args:  app.Takes(0, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if o.file == "" {
				return app.Usagef("name the file to write with -o")
			}
			past, err := a.FindRun(args)
			if err != nil {
				return err
			}
			return writeBundle(cmd.Context(), a, o, past)
		}),
	}
	o.in.Register(cmd)
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
	return withBackend(a, past, func(b *app.Backend, sum *history.Summary) error {
		p, hidden, err := pastProgram(a.Terminal, b, in, past, sum)
		if err != nil {
			return err
		}
		if err := a.ReadRemote(b, p.Pipeline.RemoteCache); err != nil {
			return err
		}
		return fn(bundle.Source{
			Past: past, History: b.Options.History, Cache: b.Options.Cache, Graph: p.Graph,
			Folders: bundle.Folders(b.Cache.Dir()),
			Secrets: append(credentialsOf(a.Terminal, p), hidden...),
		})
	})
}

// withBackend opens the engine with the competitions of a past run.
func withBackend(a *app.App, past *history.Past, use func(*app.Backend, *history.Summary) error) (err error) {
	if err := a.UseRun(past); err != nil {
		return err
	}
	b, err := a.OpenBackend()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	return use(b, sum)
}

// recording is what is recorded of a run's pipeline: its path, the files it read, its
// variables, and the ends of its steps.
type recording struct {
	run, path string
	sources   map[string][]byte
	variables map[string]json.RawMessage
	sum       *history.Summary
}

// pastProgram is the pipeline of a run of this machine, with the strings to hide.
func pastProgram(t *app.Terminal, b *app.Backend, in app.InputFlags, past *history.Past, sum *history.Summary) (*engine.Program, []string, error) {
	sources, err := past.Sources()
	if err != nil {
		return nil, nil, err
	}
	return recording{past.Info.ID, past.Info.Pipeline, sources, past.Info.Variables, sum}.program(t, b.Engine, in)
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
	if home, err := os.UserHomeDir(); err == nil {
		var token struct{ Key string }
		if text, err := os.ReadFile(filepath.Join(home, ".kaggle", "kaggle.json")); err == nil && json.Unmarshal(text, &token) == nil {
			list = append(list, token.Key)
		}
		file(filepath.Join(home, ".kaggle", "access_token"))
	}
	for _, ref := range references(p.Pipeline) {
		from, what, _ := strings.Cut(ref, ":")
		switch from {
		case "env":
			list = append(list, t.Env(what))
		case "file":
			file(what)
		}
	}
	return list
}

// references are those to secrets that agents and models have, as far as they
// are written out.
func references(p *config.Pipeline) (list []string) {
	add := func(v cty.Value) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && !v.IsMarked() {
			list = append(list, v.AsString())
		}
	}
	for _, agent := range p.Agents {
		if attr := agent.Attrs["secrets"]; attr != nil {
			if refs, _ := attr.Value(nil); refs.CanIterateElements() && !refs.IsMarked() {
				for _, v := range refs.AsValueMap() {
					add(v)
				}
			}
		}
	}
	for _, m := range p.Models {
		if attr := m.Attrs["key"]; attr != nil {
			ref, _ := attr.Value(nil)
			add(ref)
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
			_, err := fmt.Fprint(a.Stdout, d.Markdown())
			return err
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
