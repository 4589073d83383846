package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// aboutFlags are --name and --tag, which describe or choose runs.
type aboutFlags struct {
	name, note string
	tags       []string
}

func (f *aboutFlags) register(flags *pflag.FlagSet, name, tag string) {
	flags.StringVar(&f.name, "name", "", name)
	flags.StringArrayVar(&f.tags, "tag", nil, tag)
}

// about returns what the flags say of a run.
func (f *aboutFlags) about() (a ledger.About, err error) {
	a = ledger.About{RunName: f.name, Note: f.note}
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
			return nil, usagef("a tag is written KEY=VALUE, not %.80q", source.RedactText(t))
		}
		tags[k] = v
	}
	return tags, nil
}

// checkAbout refuses what cannot be shown, and addresses with a password.
func checkAbout(a ledger.About) error {
	if err := a.Check(); err != nil {
		return usageError{err}
	}
	for _, text := range append(slices.Collect(maps.Values(a.Tags)), a.Note) {
		if source.RedactText(text) != text {
			return usagef("the text holds an address that may contain a credential; names, tags and notes are stored and shown")
		}
	}
	return nil
}

func newRunsName(a *app) *cobra.Command {
	return a.runsAbout("name RUN NAME", "Name a run; an empty name removes it", takes(2, 2), func(args []string) (func(*ledger.About), ledger.About, error) {
		return func(about *ledger.About) { about.RunName = args[0] }, ledger.About{RunName: args[0]}, nil
	})
}

func newRunsNote(a *app) *cobra.Command {
	return a.runsAbout("note RUN TEXT", "Write a note on a run; an empty text removes it", takes(2, 2), func(args []string) (func(*ledger.About), ledger.About, error) {
		return func(about *ledger.About) { about.Note = args[0] }, ledger.About{Note: args[0]}, nil
	})
}

func newRunsTag(a *app) *cobra.Command {
	return a.runsAbout("tag RUN KEY=VALUE...", "Tag a run; KEY= removes the tag", takes(2, -1), func(args []string) (func(*ledger.About), ledger.About, error) {
		tags, err := tagsOf(args)
		return func(about *ledger.About) {
			for k, v := range tags {
				if about.Tags[k] = v; v == "" {
					delete(about.Tags, k)
				}
			}
		}, ledger.About{Tags: tags}, err
	})
}

// runsAbout is a command that changes what is said of a run. read returns the
// change and what it says, which is checked.
func (a *app) runsAbout(use, short string, args cobra.PositionalArgs, read func([]string) (func(*ledger.About), ledger.About, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			change, said, err := read(args[1:])
			if err == nil {
				err = checkAbout(said)
			}
			if err != nil {
				return err
			}
			past, err := a.findRun(args)
			if err != nil {
				return err
			}
			about, err := past.Describe(change)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.stdout, about)
			}
			fmt.Fprintln(a.stdout, strings.TrimRight(fmt.Sprintf("Run %s is %s. %s", past.Info.ID, about.Called(past.Info.ID), view.OneLine(about.Said())), " "))
			return nil
		}),
	}
}

// chosen keeps the runs that have the name and all the tags.
func (f *aboutFlags) chosen(entries []ledger.Entry) ([]ledger.Entry, error) {
	tags, err := tagsOf(f.tags)
	return slices.DeleteFunc(entries, func(e ledger.Entry) bool {
		return !e.Chosen(e.ID, f.name, tags)
	}), err
}
