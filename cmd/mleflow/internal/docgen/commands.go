package docgen

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the page on the command line.
func Commands(root *cobra.Command) []byte {
	p := newPage("Commands")
	p.text("Long flags may be written with one dash or two, before or after the arguments.")
	p.heading(2, "Global flags")
	p.flags(root.PersistentFlags())
	for _, cmd := range root.Commands() {
		if cmd.IsAdditionalHelpTopicCommand() {
			p.heading(2, cmd.Short)
			p.long(cmd.Long)
		}
	}
	for _, cmd := range root.Commands() {
		p.command(cmd)
	}
	return p.bytes()
}

func (p *page) command(cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" || cmd.IsAdditionalHelpTopicCommand() {
		return
	}
	// A command with others below it is one of its own if it has flags.
	if flags := cmd.LocalNonPersistentFlags(); !cmd.HasSubCommands() || cmd.HasParent() && flags.HasAvailableFlags() {
		p.heading(2, cmd.CommandPath())
		p.code("text", cmd.UseLine())
		p.text(cmd.Short + ".")
		p.long(cmd.Long)
		p.flags(flags)
	}
	for _, sub := range cmd.Commands() {
		p.command(sub)
	}
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

func (p *page) flags(set *pflag.FlagSet) {
	var rows [][]string
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
	slices.SortFunc(rows, func(a, b []string) int {
		return strings.Compare(strings.TrimLeft(a[0], "`-"), strings.TrimLeft(b[0], "`-"))
	})
	p.table([]string{"Flag", "Meaning"}, rows)
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
