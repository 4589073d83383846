package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// Main runs the command line and returns the exit status.
func Main(args []string) int {
	garbage.Start()
	if len(args) > 0 && hidden[args[0]] != nil {
		garbage.Usual() // it may run for long, and limit its memory itself
		return internal(args)
	}
	a := app.NewApp(&app.Terminal{Stdin: os.Stdin, Stdout: view.NewOutput(os.Stdout), Stderr: os.Stderr, Environ: os.Environ()})
	if dir := machine.TempDir(os.TempDir()); dir != "" && dir != os.TempDir() {
		_ = os.Setenv("TMPDIR", dir) // doctor says so
	}
	ctx, end := app.Interruptible(context.Background(), a.Terminal)
	defer end()
	return main(ctx, a, args)
}

// internal runs a command that mleflow starts itself with.
func internal(args []string) (status int) {
	defer func() {
		if v := recover(); v != nil {
			bug := crash.New(v)
			fmt.Fprintf(os.Stderr, "%v\n%s", bug, bug.Stack)
			status = app.ExitFailed
		}
	}()
	return hidden[args[0]](args[1:])
}

func main(ctx context.Context, a *app.App, args []string) int {
	root := NewRoot(a)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		(&completion{a}).complete(root)
	}
	root.SetArgs(app.Normalise(root, args))
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := crash.Do(func() error { return root.ExecuteContext(ctx) })
	if err != nil && !a.Started {
		err = app.Wrong(err)
	}
	if out, ok := a.Stdout.(*view.Output); ok && err == nil && out.Err() != nil {
		err = fmt.Errorf("write standard output: %w", out.Err())
	}
	var own app.StatusError
	if err == nil || ctx.Err() == nil || errors.As(err, &own) {
		a.Report(err)
		return app.ExitStatus(err)
	}
	if !errors.Is(err, context.Canceled) {
		a.Report(err)
	}
	return app.ExitStatus(fmt.Errorf("%w: %w", context.Cause(ctx), context.Canceled))
}
