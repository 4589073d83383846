package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// DetachedCommand runs the rest of a command line for apply --detach. Its first argument
// is the file that has the standard streams; file descriptor 3 takes the run's id.
const DetachedCommand = "detached-apply"

// DetachedJSON is what apply --detach prints with --json.
type DetachedJSON struct {
	Run string `json:"run"`
}

// detach starts this command line in a session of its own and returns when its run has
// begun. If it ends before, the error has its exit status.
func detach(ctx context.Context, a *app.App) error {
	if err := a.WithCache(func(*disk.Cache) error { return nil }); err != nil {
		return err // which makes a new cache, or says what is wrong with it
	}
	store, err := a.OpenHistory()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	log, err := store.NewLog()
	if err != nil {
		return fmt.Errorf("create the log of the run: %w", err)
	}
	defer log.Close()
	begun, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer begun.Close()
	cmd := exec.Command(self, append([]string{DetachedCommand, log.Name()}, a.Args[1:]...)...)
	cmd.Args[0] = a.Args[0]
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = os.Remove(log.Name())
		return fmt.Errorf("start in the background: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	id, err := io.ReadAll(io.LimitReader(begun, 256))
	if len(id) == 0 || err != nil {
		return unbegun(a, cmd, log)
	}
	return a.Show(DetachedJSON{string(id)}, func() { fmt.Fprintln(a.Stdout, string(id)) })
}

// unbegun waits for a process whose run did not begin, and shows what it printed.
func unbegun(a *app.App, cmd *exec.Cmd, log *os.File) error {
	err := cmd.Wait()
	_ = os.Remove(log.Name())
	if _, seek := log.Seek(0, io.SeekStart); seek == nil {
		_, _ = io.Copy(a.Stderr, log)
	}
	if status := cmd.ProcessState.ExitCode(); status > 0 {
		return fmt.Errorf("%w: %w", app.ErrSilent, app.StatusError{Status: status})
	}
	return fmt.Errorf("the process in the background ended without a run: %w", err)
}

// detached returns what notes that the run of a process in the background has begun: it
// moves the log to the run and tells the process that waits. Elsewhere it does nothing.
func detached(a *app.App) func(run string) {
	if a.Log == "" {
		return func(string) {}
	}
	syscall.CloseOnExec(3)
	to := os.NewFile(3, "begun")
	return func(run string) {
		past, err := a.FindRun([]string{run})
		if err == nil {
			err = past.KeepLog(a.Log)
		}
		if err != nil {
			a.Warn(fmt.Sprintf("The log of the run stays at %s: %v", a.Log, err))
		}
		_, _ = io.WriteString(to, run)
		_ = to.Close()
	}
}
