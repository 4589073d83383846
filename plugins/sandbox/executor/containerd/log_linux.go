package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// LogCommand is the sub-command of the binary that calls Log.
const LogCommand = "container-log"

// The descriptors that containerd's shim passes to a logging program.
const (
	logOutFD   = 3
	logErrFD   = 4
	logReadyFD = 5
)

// The files of a run's output.
const (
	outputFile = "output"
	endFile    = "output.end"
)

// overdue is the time after the grace period at which the log's keeper stops a command
// that no mleflow stopped.
const overdue = 3 * time.Second

// ended is the content of endFile.
type ended struct {
	Dropped int64 `json:"dropped"`
}

// Log keeps the output of one command in the folder args[0] for as long as the command
// lives, even if mleflow dies. It also stops a command that nobody stopped in time.
// Only the hidden sub-command LogCommand calls it, which containerd's shim starts.
func Log(args []string) int {
	if len(args) != 1 || os.Getenv("CONTAINER_ID") == "" {
		_, _ = io.WriteString(os.Stderr, "mleflow "+LogCommand+" is started by containerd, never by hand\n")
		return 2
	}
	// The shim asks the logger to end before it has read the last output.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	if err := keepLog(args[0]); err != nil {
		return 1
	}
	return 0
}

func keepLog(dir string) error {
	rec, err := loadRecord(dir)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = os.NewFile(logReadyFD, "ready").Close()
	output := executor.NewOutput(rec.LogBytes)
	w := output.Writer(f)
	var streams sync.WaitGroup
	for _, fd := range []uintptr{logOutFD, logErrFD} {
		streams.Go(func() { _, _ = io.Copy(w, os.NewFile(fd, "output")) })
	}
	over := make(chan struct{})
	go guard(rec, over)
	streams.Wait()
	close(over)
	text, err := json.Marshal(ended{Dropped: output.Dropped()})
	if err != nil {
		return err
	}
	err = nolink.WriteFile(filepath.Join(dir, endFile), text, 0o600, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the run was removed
	}
	return err
}

// guard stops the command when it is so long overdue that no mleflow can be watching
// it.
func guard(rec record, over <-chan struct{}) {
	if rec.Timeout == 0 {
		return
	}
	timer := time.NewTimer(time.Until(rec.Deadline()) + rec.Grace + overdue)
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-timer.C:
			_ = killContainer(rec)
			timer.Reset(overdue)
		}
	}
}

func killContainer(rec record) error {
	c, err := client.New(rec.Socket, client.WithTimeout(dialTimeout))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(context.Background(), rec.Namespace), dialTimeout)
	defer cancel()
	container, err := c.LoadContainer(ctx, rec.Container)
	if err != nil {
		return err
	}
	task, err := container.Task(ctx, nil)
	if err != nil {
		return err
	}
	return task.Kill(ctx, syscall.SIGKILL, client.WithKillAll)
}

// logPatience is the maximum wait for the end of the output after all processes have
// ended.
const logPatience = 10 * time.Second

// droppedOf waits for the log's keeper, which writes endFile last, and returns the
// number of dropped bytes of output.
func droppedOf(dir string) (int64, error) {
	var end ended
	for until := time.Now().Add(logPatience); ; time.Sleep(10 * time.Millisecond) {
		err := claim.Load(filepath.Join(dir, endFile), &end)
		if err == nil || time.Now().After(until) {
			return end.Dropped, err
		}
	}
}
