package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// AboutFlags are --name and --tag, which describe or choose runs.
type AboutFlags struct {
	name, Note string
	tags       []string
}

// Register adds the flags.
func (f *AboutFlags) Register(flags *pflag.FlagSet, name, tag string) {
	flags.StringVar(&f.name, "name", "", name)
	flags.StringArrayVar(&f.tags, "tag", nil, tag)
}

// About returns what the flags say of a run.
func (f *AboutFlags) About() (a history.About, err error) {
	a = history.About{RunName: f.name, Note: f.Note}
	if a.Tags, err = tagsOf(f.tags); err == nil {
		err = checkAbout(a)
	}
	return a, err
}

// tagsOf reads tags written as KEY=VALUE.
func tagsOf(list []string) (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range list {
		k, v, ok := strings.Cut(t, "=")
		if !ok {
			return nil, app.Usagef("a tag is written KEY=VALUE, not %.80q", source.RedactText(t))
		}
		tags[k] = v
	}
	return tags, nil
}

// checkAbout refuses what cannot be shown, and addresses with a password.
func checkAbout(a history.About) error {
	if err := a.Check(); err != nil {
		return app.Wrong(err)
	}
	for _, text := range append(slices.Collect(maps.Values(a.Tags)), a.Note) {
		if source.RedactText(text) != text {
			return app.Usagef("the text holds an address that may contain a credential; names, tags and notes are stored and shown")
		}
	}
	return nil
}

func newRunsName(a *app.App) *cobra.Command {
	return runsAbout(a, "name RUN NAME", "Name a run; an empty name removes it", app.Takes(2, 2), func(args []string) (func(*history.About), history.About, error) {
		return func(about *history.About) { about.RunName = args[0] }, history.About{RunName: args[0]}, nil
	})
}

func newRunsNote(a *app.App) *cobra.Command {
	return runsAbout(a, "note RUN TEXT", "Write a note on a run; an empty text removes it", app.Takes(2, 2), func(args []string) (func(*history.About), history.About, error) {
		return func(about *history.About) { about.Note = args[0] }, history.About{Note: args[0]}, nil
	})
}

func newRunsTag(a *app.App) *cobra.Command {
	return runsAbout(a, "tag RUN KEY=VALUE...", "Tag a run; KEY= removes the tag", app.Takes(2, -1), func(args []string) (func(*history.About), history.About, error) {
		tags, err := tagsOf(args)
		return func(about *history.About) {
			for k, v := range tags {
				if about.Tags[k] = v; v == "" {
					delete(about.Tags, k)
				}
			}
		}, history.About{Tags: tags}, err
	})
}

// runsAbout is a command that changes what is said of a run. read returns the
// change and what it says, which is checked.
func runsAbout(a *app.App, use, short string, args cobra.PositionalArgs, read func([]string) (func(*history.About), history.About, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			change, said, err := read(args[1:])
			if err == nil {
				err = checkAbout(said)
			}
			if err != nil {
				return err
			}
			past, err := a.FindRun(args)
			if err != nil {
				return err
			}
			about, err := past.Describe(change)
			if err != nil {
				return err
			}
			if a.JSON {
				return app.WriteJSON(a.Stdout, about)
			}
			fmt.Fprintln(a.Stdout, strings.TrimRight(fmt.Sprintf("Run %s is %s. %s", past.Info.ID, about.Called(past.Info.ID), view.OneLine(about.Said())), " "))
			return nil
		}),
	}
}

// chosen keeps the runs that have the name and all the tags.
func (f *AboutFlags) chosen(entries []history.Entry) ([]history.Entry, error) {
	tags, err := tagsOf(f.tags)
	return slices.DeleteFunc(entries, func(e history.Entry) bool {
		return !e.Chosen(e.ID, f.name, tags)
	}), err
}
