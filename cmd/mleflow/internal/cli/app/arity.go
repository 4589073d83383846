package app

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Takes is the Args of a command with at least least and at most most
// arguments (most < 0: any number). The error shows how the command is written.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		got := "nothing after it"
		switch n := len(args); {
		case n == 1:
			got = "1 argument"
		case n > 1:
			got = fmt.Sprintf("%d arguments", n)
		}
		return fmt.Errorf("%s is written %q; there is %s", cmd.CommandPath(), cmd.UseLine(), got)
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
	cmd := &cobra.Command{Use: use, Short: short, Args: SubCommand, RunE: a.Action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() })}
	cmd.AddCommand(commands...)
	return cmd
}

// valueError says in plain words that a flag's value is not of its type; nil
// if err is something else.
func valueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return nil
	}
	if twice, ok := errors.AsType[errGivenTwice](err); ok {
		return fmt.Errorf("--%s %.60q: %w", invalid.GetFlag().Name, invalid.GetValue(), twice)
	}
	want := invalid.GetFlag().Value.Type()
	switch want {
	case "int":
		want = "an integer"
	case "bool":
		want = "true or false"
	}
	return fmt.Errorf("--%s: %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}
