package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
)

func newGradeSample(a *app) *cobra.Command {
	var data dataFlags
	var reward, rewardDir string
	cmd := &cobra.Command{
		Use:   "grade-sample SUBMISSION.csv ID",
		Short: "Grade one submission",
		Long:  "Grade a submission and compare it with the human leaderboard. The exit status is\n4 without a score.",
		Args:  takes(2, 2),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			if err := checkReward(reward); err != nil {
				return err
			}
			return runGradeSample(cmd.Context(), a, data, args[0], args[1], func(r grading.Report) error {
				if rewardDir == "" {
					return nil
				}
				return writeReward(rewardDir, reward, r)
			})
		}),
	}
	data.register(cmd)
	cmd.Flags().StringVar(&reward, "reward", "medal", "`KIND` of reward: medal, rank or margin")
	cmd.Flags().StringVar(&rewardDir, "reward-dir", "", "write reward.json and reward.txt to `DIR`, for training harnesses")
	return cmd
}

func runGradeSample(ctx context.Context, a *app, data dataFlags, path, id string, keep func(grading.Report) error) error {
	spareMemory()
	catalog, err := a.catalog()
	if err != nil {
		return err
	}
	def, err := catalog.Get(id)
	if err != nil {
		return usageError{err}
	}
	layout, err := data.layout(a)
	if err != nil {
		return err
	}
	params, err := data.parameters()
	if err == nil {
		err = params.known([]*competitions.Definition{def})
	}
	if err != nil {
		return err
	}
	values, err := params.values(def)
	if err != nil {
		return err
	}
	report, err := a.grader().Grade(ctx, def, grading.Request{
		Submission: path, Answers: grading.AnswersPath(layout.Dir, def), Params: values, Created: time.Now()})
	if err != nil {
		return err
	}
	if err := keep(report); err != nil {
		return err
	}
	if err := showReport(a.terminal, report, def.Medals); err != nil {
		return err
	}
	if hint := grading.Hint(report, path); hint != "" {
		fmt.Fprintf(a.stderr, "Hint: %s.\n", hint)
	}
	if report.Outcome != grading.Scored {
		return fmt.Errorf("%w: %w", errSilent, errInvalidSubmission)
	}
	return nil
}

func showReport(t *terminal, r grading.Report, medals competitions.Medals) error {
	if t.json {
		return writeJSON(t.stdout, r)
	}
	fmt.Fprintf(t.stdout, "%s: %s\n", r.CompetitionID, verdictText(r))
	if r.Rank != nil {
		fmt.Fprintf(t.stdout, "place %s human teams\n", export.Place(*r.Rank, r.Teams))
	}
	better := "higher is better"
	if r.LowerIsBetter {
		better = "lower is better"
	}
	published := func(c grading.Cutoff) string { return medals.Published(float64(c)) }
	if r.Unranked() {
		fmt.Fprintf(t.stdout, "no medals: the competition has no leaderboard (%s)\n", better)
	} else {
		fmt.Fprintf(t.stdout, "gold %s, silver %s, bronze %s, median %s (%s)\n", published(r.Gold), published(r.Silver), published(r.Bronze), published(r.Median), better)
	}
	if r.NonFinite {
		fmt.Fprintln(t.stdout, t.outStyle().Warn("The score is not finite; check the submission before trusting a medal."))
	}
	return nil
}
