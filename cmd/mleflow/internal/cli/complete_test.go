package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// TestEverythingCompletes makes sure that each command with arguments, and each
// flag with a value, says how shells complete it.
func TestEverythingCompletes(t *testing.T) {
	a := app.NewApp(&app.Terminal{})
	c := &completion{a}
	root := NewRoot(a)
	arguments, values := c.argumentCompleters(), c.valueCompleters()
	used := map[string]bool{}
	app.Walk(root, func(c *cobra.Command) {
		path := c.CommandPath()
		if _, listed := arguments[path]; listed {
			used[path] = true
		} else if takesArguments(c) && c.ValidArgs == nil && !c.Hidden {
			t.Errorf("%s takes arguments and is not among argumentCompleters", c.UseLine())
		}
		each := func(f *pflag.Flag) {
			if f.NoOptDefVal == "" && completerOf(c, f, values) == nil {
				called, _ := pflag.UnquoteUsage(f)
				t.Errorf("%s --%s %s is not among valueCompleters", path, f.Name, called)
			}
		}
		c.Flags().VisitAll(each)
		c.PersistentFlags().VisitAll(each)
	})
	for path := range arguments {
		if !used[path] {
			t.Errorf("argumentCompleters has %s, which is no command", path)
		}
	}
}

func takesArguments(c *cobra.Command) bool {
	_, rest, _ := strings.Cut(c.Use, " ")
	return c.Runnable() && strings.Trim(rest, " ") != "" && !c.HasSubCommands()
}
