package competition

import (
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// NewCompetition returns the command competition.
func NewCompetition(a *app.App) *cobra.Command {
	return app.Group(a, "competition", "Show, write and check competitions: list, show, new, lint, test, lock", newCompetitionList(a), newCompetitionShow(a), newCompetitionNew(a), newCompetitionLint(a), newCompetitionTest(a), newCompetitionLock(a))
}
