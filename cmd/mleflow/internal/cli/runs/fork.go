package runs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

// NewAttempts returns the command attempts.
func NewAttempts(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attempts",
		Short: "Begin new attempts from checkpoints of others",
		Args:  app.SubCommand,
		RunE:  a.Action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(newFork(a))
	return cmd
}

// forkOptions are the flags of attempts fork.
type forkOptions struct {
	in          app.InputFlags
	at, timeout time.Duration
}

func newFork(a *app.App) *cobra.Command {
	var o forkOptions
	cmd := &cobra.Command{
		Use:   "fork RUN ADDRESS",
		Short: "Start an attempt from a checkpoint of another one",
		Args:  app.Takes(2, 2),
		RunE: a.OnRun(func(cmd *cobra.Command, past *history.Past, args []string) error {
			past, err := repeatable(past)
			if err != nil {
				return err
			}
			fork, err := o.choose(cmd.Context(), a, past, args[1])
			if err != nil {
				return err
			}
			more, err := o.args(args[1], fork)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "The attempt begins from the checkpoint after %v.\n", fork.At)
			return repeat(a, past, more...)
		}),
	}
	o.in.Register(cmd)
	cmd.Flags().DurationVar(&o.at, "at", 0, "begin from the checkpoint nearest to `TIME` of the attempt")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "limit the attempt to `TIME` from its first beginning, by -var timeout")
	_ = cmd.MarkFlagRequired("at") // there is one
	return cmd
}

// choose finds the checkpoint from which an attempt of a run is forked.
func (o forkOptions) choose(ctx context.Context, a *app.App, past *history.Past, address string) (fork *checkpoint.Fork, err error) {
	if !slices.Contains(past.Info.Argv, "apply") {
		return nil, app.Usagef("run %s was not started by apply", past.Info.ID)
	}
	key, err := keyOf(past, address)
	if err != nil {
		return nil, err
	}
	err = a.WithResults(past, func(c app.ResultCache) error {
		fork, err = checkpoint.Place{Cache: c, Attempt: key, Address: address, Run: past.Info.ID}.Choose(ctx, o.at)
		return err
	})
	return fork, err
}

// keyOf returns the key of an attempt in a run.
func keyOf(past *history.Past, address string) (key digest.ActionID, err error) {
	sum, err := past.Summary()
	if err != nil {
		return key, err
	}
	s := sum.Step(address)
	if s == nil || s.Kind != conditions.AttemptKind {
		return key, app.Usagef("run %s has no attempt %s; mleflow show lists its steps", past.Info.ID, address)
	}
	text := s.Action
	if p, err := past.Plan(); err == nil && text == "" {
		for _, planned := range p.Steps {
			if planned.Name == address {
				text = planned.ActionID
			}
		}
	}
	if key, err = digest.ParseActionID(text); err != nil {
		return key, app.Usagef("the key of %s is not known before run %s ends", address, past.Info.ID)
	}
	return key, nil
}

// forking reports whether args made an argument.
func forking(arg string) bool {
	return strings.HasPrefix(arg, "--attempt=") || strings.HasPrefix(arg, "--fork=")
}

// args are the arguments that make a run's command that of a fork.
func (o forkOptions) args(address string, fork *checkpoint.Fork) ([]string, error) {
	more := []string{"--attempt=" + address, "--fork=" + fork.String()}
	for _, in := range o.in.Assignments {
		if in.File == "" {
			more = append(more, "--var="+in.Text)
			continue
		}
		path, err := filepath.Abs(in.File) // the command runs in the run's folder
		if err != nil {
			return nil, err
		}
		more = append(more, "--var-file="+path)
	}
	if o.timeout > 0 {
		more = append(more, "--var=timeout="+o.timeout.String())
	}
	return more, nil
}
