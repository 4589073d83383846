package export

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/atif"
)

func newExportATIF(a *app.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "atif RUN ADDRESS [-o FILE]",
		Short: "Write an attempt's conversation with its models as a trajectory",
		Long: `Write an attempt's transcript in ATIF 1.7, the Agent Trajectory Interchange
Format of Harbor and other tools, to FILE or standard output.

The longest conversation is the trajectory, others are subagents. Each exchange
is a step with reply, calls of tools and their results, tokens and cost. Of
images the type is named.`,
		Example: `  mleflow export atif latest 'step.agent-run.solve["0"]' -o trajectory.json`,
		Args:    app.Takes(2, 2),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			past, err := a.FindRun(args)
			if err != nil {
				return err
			}
			return runs.WithTranscript(cmd.Context(), a, past, args[1], func(rec *cache.Record, r *transcript.Reader) error {
				return exportATIF(a, past.Info.ID, rec, r, output)
			})
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return cmd
}

func exportATIF(a *app.App, run string, rec *cache.Record, r *transcript.Reader, output string) error {
	at := bundle.AttemptOf(rec.Address, rec)
	extra := map[string]any{
		"competition": at.Competition, "competition_version": at.CompetitionVersion, "seed": at.Seed, "outcome": at.Result.Outcome,
		"action": rec.Action.String(), "mleflow_run": run,
	}
	tr, err := atif.Export(r, atif.Run{Session: rec.Run + "/" + rec.Address, Agent: at.Agent, Version: at.AgentVersion, Extra: extra})
	if errors.Is(err, atif.ErrEmpty) {
		return app.Usagef("%s has nothing to export: %v", rec.Address, err)
	}
	if err != nil {
		return fmt.Errorf("export transcript: %w", err)
	}
	if output == "" {
		return app.WriteJSON(a.Stdout, tr)
	}
	err = wholefile.Create(output, 0o666, func(w io.Writer) error { return app.WriteJSON(w, tr) })
	if errors.Is(err, os.ErrExist) {
		return app.Usagef("%s already exists; move it away, or write elsewhere", output)
	}
	if err != nil {
		return fmt.Errorf("write trajectory: %w", err)
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, map[string]any{"path": output, "steps": len(tr.Steps), "subagents": len(tr.Subagents)})
	}
	fmt.Fprintf(a.Stdout, "%s holds %d steps and %d other conversations.\n", output, len(tr.Steps), len(tr.Subagents))
	return nil
}
