package docgen

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the page on the command line.
func Commands(root *cobra.Command) []byte {
	p := newPage("Commands")
	p.text("The commands, as `mleflow COMMAND --help` lists them. Long flags take one dash or two, before or after the arguments.")
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
		p.heading(2, cmd.CommandPath())
		if use := strings.TrimSuffix(cmd.UseLine(), " [flags]"); use != cmd.CommandPath() {
			p.text(code(use))
		}
		p.long(cmp.Or(cmd.Long, cmd.Short+"."))
		var own [][]string
		var also []string
		for _, row := range flagRows(cmd.LocalNonPersistentFlags()) {
			if slices.ContainsFunc(shared, func(s []string) bool { return slices.Equal(s, row) }) {
				also = append(also, code(flagName.FindString(row[0])))
			} else {
				own = append(own, row)
			}
		}
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
func sharedFlags(root *cobra.Command) (shared [][]string) {
	uses := map[string]int{}
	var count func(*cobra.Command)
	count = func(cmd *cobra.Command) {
		for _, row := range flagRows(cmd.LocalNonPersistentFlags()) {
			if cmd.Hidden || !isPage(cmd) {
				continue
			}
			key, enough := strings.Join(row, "\n"), 3
			if len(row[1]) > longMeaning {
				enough = 2
			}
			if uses[key]++; uses[key] == enough {
				shared = append(shared, row)
			}
		}
		for _, sub := range cmd.Commands() {
			count(sub)
		}
	}
	count(root)
	sortFlags(shared)
	return shared
}

// long writes the long help: paragraphs, and indented ones as they are.
func (p *page) long(text string) {
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			p.code("text", paragraph)
			continue
		}
		p.text(strings.ReplaceAll(paragraph, "\n", " "))
	}
}

// flagName is the long name in the first cell of a flag's row.
var flagName = regexp.MustCompile(`--[a-z-]+`)

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
