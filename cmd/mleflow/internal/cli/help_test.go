package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// TestHelpSections fails when help.txt has a section of no command, as after a rename.
func TestHelpSections(t *testing.T) {
	sections := helpSections()
	if len(sections) < 50 {
		t.Fatalf("help.txt has %d sections", len(sections))
	}
	app.Walk(NewRoot(app.NewApp(&app.Terminal{})), func(c *cobra.Command) {
		if text, ok := sections[c.CommandPath()]; ok && (text == "" || c.Long == "") {
			t.Errorf("%s has a section without text", c.CommandPath())
		}
		delete(sections, c.CommandPath())
	})
	for path := range sections {
		t.Errorf("help.txt has a section %q, which is no command", path)
	}
}
