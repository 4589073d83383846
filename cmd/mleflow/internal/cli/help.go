package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// helpText has the long help of the commands: a section "## COMMAND" each, with its
// examples after a line "Examples:".
//
//go:embed help.txt
var helpText string

// addHelp gives the commands their long help, and the root the topics that are not about a command.
func addHelp(root *cobra.Command) {
	root.AddCommand(
		&cobra.Command{Use: "environment", Short: "Variables of the environment that mleflow reads"},
		&cobra.Command{Use: "exit-statuses", Short: "What the exit statuses mean"},
	)
	sections := helpSections()
	app.Walk(root, func(c *cobra.Command) {
		if s, ok := sections[c.CommandPath()]; ok {
			c.Long, c.Example, _ = strings.Cut(s, "\n\nExamples:\n")
		}
	})
}

// helpSections returns the sections of the help text by the command's path.
func helpSections() map[string]string {
	sections := map[string]string{}
	for section := range strings.SplitSeq(strings.TrimPrefix(helpText, "## "), "\n## ") {
		path, text, _ := strings.Cut(section, "\n\n")
		sections[path] = strings.TrimSpace(text)
	}
	return sections
}
