package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandsPage returns the page on the command line.
func commandsPage(root *cobra.Command) []byte {
	p := newPage("Commands")
	p.text("The commands, as `mleflow COMMAND --help` lists them. Long flags take one dash or two, anywhere.")
	p.heading(2, "Global flags")
	p.terms(flagRows(root.PersistentFlags()))
	p.heading(2, "Shared flags")
	p.text("Commands that have these only name them.")
	shared := sharedFlags(root)
	p.terms(shared)
	for _, cmd := range root.Commands() {
		if cmd.IsAdditionalHelpTopicCommand() {
			p.heading(2, cmd.Short)
			p.long(cmd.Long)
		}
	}
	for _, cmd := range root.Commands() {
		p.command(cmd, shared)
	}
	return p.bytes()
}

func (p *page) command(cmd *cobra.Command, shared [][]string) {
	if cmd.Hidden || cmd.Name() == "help" || cmd.IsAdditionalHelpTopicCommand() {
		return
	}
	if isPage(cmd) {
		p.heading(2, code(strings.TrimSuffix(cmd.UseLine(), " [flags]")))
		p.long(cmp.Or(cmd.Long, cmd.Short+"."))
		own, also := without(flagRows(cmd.LocalNonPersistentFlags()), shared)
		p.terms(own)
		if len(also) > 0 {
			p.text("[Shared](#shared-flags): " + strings.Join(also, ", ") + ".")
		}
	}
	for _, sub := range cmd.Commands() {
		p.command(sub, shared)
	}
}

// isPage says whether a command has a section: one with others below it only if it has flags.
func isPage(cmd *cobra.Command) bool {
	return !cmd.HasSubCommands() || cmd.HasParent() && cmd.LocalNonPersistentFlags().HasAvailableFlags()
}

// longMeaning is a number of characters that is not worth repeating.
const longMeaning = 60

// sharedFlags returns the rows of the flags that three commands or more have,
// or two where the meaning is long.
func sharedFlags(root *cobra.Command) [][]string {
	var all [][]string
	var collect func(*cobra.Command)
	collect = func(cmd *cobra.Command) {
		if !cmd.Hidden && isPage(cmd) {
			all = append(all, flagRows(cmd.LocalNonPersistentFlags())...)
		}
		for _, sub := range cmd.Commands() {
			collect(sub)
		}
	}
	collect(root)
	thrice := repeated(all, 3)
	shared := slices.DeleteFunc(repeated(all, 2), func(row []string) bool {
		return len(row[1]) <= longMeaning && !slices.ContainsFunc(thrice, func(s []string) bool { return slices.Equal(s, row) })
	})
	sortFlags(shared)
	return shared
}

// long writes the long help: paragraphs, and indented ones as they are.
func (p *page) long(text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			p.code("text", paragraph)
			continue
		}
		p.text(strings.ReplaceAll(paragraph, "\n", " "))
	}
}

func flagRows(set *pflag.FlagSet) (rows [][]string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		rows = append(rows, []string{code(name), capitalize(usage) + "."})
	})
	sortFlags(rows)
	return rows
}

func sortFlags(rows [][]string) {
	slices.SortFunc(rows, func(a, b []string) int {
		return strings.Compare(strings.TrimLeft(a[0], "`-"), strings.TrimLeft(b[0], "`-"))
	})
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
