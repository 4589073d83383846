package app

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Normalise lets long flags be written with one dash, as Terraform's users
// do: -var k=v becomes --var k=v. Only names that some command knows are
// rewritten; the value of a flag and what follows "--" are left alone.
func Normalise(root *cobra.Command, args []string) []string {
	flags := LongFlags(root)
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, isLong := longName(arg, flags)
		if !isLong {
			out = append(out, arg)
			continue
		}
		out = append(out, "--"+strings.TrimLeft(arg, "-"))
		if flags[name] && !strings.Contains(arg, "=") && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out
}

// longName returns the name of a long flag, without dashes and value.
func longName(arg string, flags map[string]bool) (string, bool) {
	if len(arg) < 3 || arg[0] != '-' {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	_, known := flags[name]
	return name, known && len(name) > 1
}

// LongFlags returns the long flags of all commands and whether they take a
// value.
func LongFlags(root *cobra.Command) map[string]bool {
	flags := map[string]bool{"help": false}
	add := func(f *pflag.Flag) { flags[f.Name] = f.NoOptDefVal == "" }
	Walk(root, func(c *cobra.Command) {
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
	})
	return flags
}

// Walk calls visit for a command and all below it, parents first.
func Walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		Walk(sub, visit)
	}
}
