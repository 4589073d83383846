package app

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/diag"
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
	WalkFlags(root, func(_ *cobra.Command, f *pflag.Flag) { flags[f.Name] = f.NoOptDefVal == "" })
	return flags
}

// Walk calls visit for a command and all below it, parents first.
func Walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		Walk(sub, visit)
	}
}

// WalkFlags calls visit for each flag of a command and those below it.
func WalkFlags(c *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	Walk(c, func(c *cobra.Command) {
		each := func(f *pflag.Flag) { visit(c, f) }
		c.Flags().VisitAll(each)
		c.PersistentFlags().VisitAll(each)
	})
}

// Takes is the Args of a command with at least least and at most most
// arguments (most < 0: any number). The error shows how the command is written.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		got := "is nothing after it"
		if len(args) > 0 {
			got = view.Either(len(args) == 1, "is ", "are ") + view.Plural(len(args), "argument")
		}
		return fmt.Errorf("%s is written %q; there %s", cmd.CommandPath(), cmd.UseLine(), got)
	}
}

// Needs adds to a command's Args flags that must be given.
func Needs(args cobra.PositionalArgs, flags ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return err
		}
		for _, name := range flags {
			f := cmd.Flags().Lookup(name)
			if !f.Changed {
				value, _ := pflag.UnquoteUsage(f)
				return fmt.Errorf("%s needs --%s %s", cmd.CommandPath(), name, value)
			}
		}
		return nil
	}
}

// Group is a command that has commands only.
func Group(a *App, use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := a.Command(use, short, SubCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() })
	cmd.AddCommand(commands...)
	return cmd
}

// valueError says in plain words that a flag's value is not of its type, or was given
// before.
func valueError(invalid *pflag.InvalidValueError) error {
	if errors.Is(invalid, errGivenTwice) {
		return fmt.Errorf("--%s %.60q: %w", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	}
	kind := invalid.GetFlag().Value.Type()
	want := cmp.Or(map[string]string{"int": "an integer", "bool": "true or false", "duration": "a time such as 2h, 30m or 90s"}[kind], kind)
	return fmt.Errorf("--%s: %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}

// onceValue is the value of a flag that may be given only once, or again with the
// same value: the last of several would silently replace the others.
type onceValue struct {
	pflag.Value
	given *string
}

// errGivenTwice is the error of a flag that had another value before.
var errGivenTwice = errors.New("it was also given")

// Set implements pflag.Value.
func (o *onceValue) Set(text string) error {
	if o.given != nil && *o.given != text {
		return fmt.Errorf("%w as %.60q; give it once", errGivenTwice, *o.given)
	}
	o.given = &text
	return o.Value.Set(text)
}

// SetOnce makes it so for all flags of a command and those below it that hold one
// value of a basic type.
func SetOnce(cmd *cobra.Command) {
	WalkFlags(cmd, func(_ *cobra.Command, f *pflag.Flag) {
		switch fmt.Sprintf("%T", f.Value) {
		case "*pflag.stringValue", "*pflag.intValue", "*pflag.int64Value", "*pflag.uint64Value", "*pflag.float64Value", "*pflag.durationValue":
			f.Value = &onceValue{Value: f.Value}
		}
	})
}

// SubCommand is the Args of a command that only has sub-commands: any argument
// is a command that does not exist.
func SubCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	shown := lists.Where(cmd.Commands(), func(sub *cobra.Command) bool { return !sub.Hidden })
	names := lists.Of(shown, (*cobra.Command).Name)
	return fmt.Errorf("unknown command %q for %q.%s", args[0], cmd.CommandPath(), diag.DidYouMean(args[0], names))
}

// FlagError says which flag does not exist, as it was written, and the nearest
// one that does.
func FlagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return valueError(invalid)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	name, dash := unknown.GetSpecifiedName(), "--"
	if group := unknown.GetSpecifiedShortnames(); group != "" {
		name, dash = group, "-"
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("unknown flag %s%s for %q.%s", dash, name, cmd.CommandPath(), diag.DidYouMean(name, names))
}
