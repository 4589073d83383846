package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP (the
// terminal is gone) cancels, after saying so. The second ends the process at once, after leave was called.
func interruptible(parent context.Context, say func(string), leave func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup sets it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		say("Stopping: steps in flight are being ended. Press Ctrl-C again to quit at once.")
		cancel()
		if _, ok := <-signals; ok {
			leave()
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
