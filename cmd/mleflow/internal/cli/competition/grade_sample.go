package competition

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/harbor"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
)

type gradeSampleOptions struct {
	data              app.DataFlags
	reward, rewardDir string
	answers           string
}

// NewGradeSample returns the command grade-sample.
func NewGradeSample(a *app.App) *cobra.Command {
	var o gradeSampleOptions
	cmd := &cobra.Command{
		Use:   "grade-sample SUBMISSION.csv ID",
		Short: "Grade one submission",
		Args:  app.Takes(2, 2),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			return runGradeSample(cmd.Context(), a, o, args[0], args[1])
		}),
	}
	o.data.Register(cmd)
	o.data.RegisterVersion(cmd, "grade as `VERSION`: v1, one with errata such as v2, or a masked one such as v1m, with the data of prepare --version (default: that of the data)")
	cmd.Flags().StringVar(&o.reward, "reward", "", harbor.RewardUsage)
	cmd.Flags().StringVar(&o.rewardDir, "reward-dir", "", "write reward.json and reward.txt to `DIR`, for training harnesses")
	cmd.Flags().StringVar(&o.answers, "answers", "", "compare with the answers in `FILE` instead of the prepared ones")
	return cmd
}

func runGradeSample(ctx context.Context, a *app.App, o gradeSampleOptions, path, id string) error {
	app.SpareMemory()
	def, err := a.Definition(id)
	if err != nil {
		return err
	}
	layout, err := o.data.Layout(a)
	if err != nil {
		return err
	}
	if def, layout.Dir, err = def.Place(layout.Dir, o.data.Version); err != nil {
		return app.Wrong(err)
	}
	values, err := o.data.Values(def, def)
	if err != nil {
		return err
	}
	if o.reward, err = harbor.CheckReward(o.reward, def); err != nil {
		return app.Wrong(err)
	}
	q := grading.Request{Submission: path, Answers: grading.AnswersPath(layout.Dir, def), Params: values, Created: time.Now()}
	if o.answers != "" {
		q.Answers = o.answers
	}
	report, err := a.Grader().Grade(ctx, def, q)
	if err != nil {
		return err
	}
	if o.rewardDir != "" {
		scale, err := harbor.Measure(def, func(name string) (grading.Report, error) {
			q.Submission = filepath.Join(layout.Prepared(id), filepath.FromSlash(name))
			return a.Grader().Grade(ctx, def, q)
		})
		if err != nil {
			return err
		}
		if err := scale.WriteReward(o.rewardDir, o.reward, report); err != nil {
			return err
		}
	}
	if err := showReport(a.Terminal, report, def.Medals); err != nil {
		return err
	}
	if hint := grading.Hint(report, path); hint != "" {
		fmt.Fprintf(a.Stderr, "Hint: %s.\n", hint)
	}
	if report.Outcome != outcome.Scored {
		return fmt.Errorf("%w: %w", app.ErrSilent, app.ErrInvalidSubmission)
	}
	return nil
}

func showReport(t *app.Terminal, r grading.Report, medals competitions.Medals) error {
	return t.Show(r, func() {
		fmt.Fprintf(t.Stdout, "%s: %s\n", r.CompetitionID, verdictText(r))
		if r.Rank != nil {
			fmt.Fprintf(t.Stdout, "place %s human teams\n", results.Place(*r.Rank, r.Teams))
		}
		better := competitions.Direction(r.LowerIsBetter)
		published := func(c grading.Cutoff) string { return medals.Published(float64(c)) }
		switch {
		case conditions.Rehearsed(r.Conditions):
			fmt.Fprintf(t.Stdout, "no medals: the data are those of a rehearsal (%s is better)\n", better)
		case r.Unranked():
			fmt.Fprintf(t.Stdout, "no medals: the competition has no leaderboard (%s is better)\n", better)
		default:
			fmt.Fprintf(t.Stdout, "gold %s, silver %s, bronze %s, median %s (%s is better)\n", published(r.Gold), published(r.Silver), published(r.Bronze), published(r.Median), better)
		}
		if r.NonFinite {
			fmt.Fprintln(t.Stdout, t.OutStyle().Warn("The score is not finite; check the submission before trusting a medal."))
		}
	})
}
