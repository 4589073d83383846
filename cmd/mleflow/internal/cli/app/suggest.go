package app

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/engine/diag"
)

// SubCommand is the Args of a command that only has sub-commands: any argument
// is a command that does not exist.
func SubCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q.%s", args[0], cmd.CommandPath(), diag.DidYouMean(args[0], names))
}

// FlagError says which flag does not exist, as it was written, and the nearest
// one that does.
func FlagError(cmd *cobra.Command, err error) error {
	if value := valueError(err); value != nil {
		return value
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
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
