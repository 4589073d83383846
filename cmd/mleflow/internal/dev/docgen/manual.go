package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// manual returns the manual page of all commands, in roff.
func manual(root *cobra.Command) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH MLEFLOW 1\n.SH NAME\nmleflow \\- %s\n.SH DESCRIPTION\n%s\n.SH GLOBAL FLAGS\n", roff.Replace(root.Short), roff.Replace(root.Long))
	manFlags(&b, root.PersistentFlags())
	manCommands(&b, root)
	var ascii []byte
	for _, r := range b.String() {
		if r < 128 {
			ascii = append(ascii, byte(r))
		} else {
			ascii = fmt.Appendf(ascii, "\\[u%04X]", r)
		}
	}
	return ascii
}

func manCommands(b *strings.Builder, parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		title := cmd.UseLine()
		if cmd.IsAdditionalHelpTopicCommand() {
			title = cmd.Short
		}
		fmt.Fprintf(b, ".SH %s\n.nf\n%s\n.fi\n", roff.Replace(title), roff.Replace("\n" + cmd.Long)[1:])
		manFlags(b, cmd.LocalNonPersistentFlags())
		manCommands(b, cmd)
	}
}

func manFlags(b *strings.Builder, set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff.Replace(strings.TrimSpace("--"+f.Name+" "+value)), roff.Replace(usage))
	})
}
