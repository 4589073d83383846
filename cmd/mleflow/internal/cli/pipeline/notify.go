package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/parallel"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/notify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// notifyWait is how long a run that is over waits for its last messages to arrive.
const notifyWait = 5 * time.Second

// Configured reads the user's configuration, if there is one, and returns its path.
func Configured(a *app.App) (list notify.Receivers, path string, err error) {
	if path = a.Env("MLEFLOW_CONFIG"); path == "none" || a.Submitted != nil { // or it is the server's user's
		return nil, path, nil
	}
	if path == "" {
		folder, err := os.UserConfigDir()
		path = filepath.Join(folder, "mleflow", "config.hcl")
		if _, missing := os.Stat(path); err != nil || errors.Is(missing, fs.ErrNotExist) {
			return nil, path, nil //nolint:nilerr // without a home folder there is none
		}
	}
	list, sources, diags := notify.Read(path)
	return list, path, app.Checked(diags, sources)
}

// notifyFlags say who is told about a run besides the receivers of the configuration.
type notifyFlags struct{ to []string }

// Register adds the flag.
func (o *notifyFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.to, "notify", nil, "tell `RECEIVER` about the run: a name of your configuration, an address such as ntfy://ntfy.sh/TOPIC, or env:NAME for one; repeatable")
}

// hide returns an argument of the command line without addresses.
func (o *notifyFlags) hide(arg string) string {
	for _, to := range o.to {
		arg = strings.ReplaceAll(arg, to, notify.Hidden(to))
	}
	return source.RedactText(arg)
}

// start returns a sink that also tells receivers, and what ends it.
func (o *notifyFlags) start(a *app.App, p *engine.Program, sink event.Sink) (event.Sink, func(), error) {
	list, path, err := Configured(a)
	if err != nil {
		return nil, nil, err
	}
	list, missing, err := list.Chosen(p.Pipeline.Notify, o.to, path)
	if err != nil {
		return nil, nil, app.Wrong(err)
	}
	for _, name := range missing {
		a.Warn(fmt.Sprintf("the pipeline notifies %q, and your configuration defines no such receiver; write notify %q { to = … } in %s", name, name, path))
	}
	run := notify.New(list, p)
	return event.Multi(sink, run), func() {
		for _, failed := range run.Close(notifyWait) {
			a.Warn(failed + "; mleflow notify test tries it")
		}
	}, nil
}

// NotifiedJSON is the output of notify test in JSON.
type NotifiedJSON struct {
	Receivers []NotifiedEntry `json:"receivers"`
}

// NotifiedEntry is what became of a test message.
type NotifiedEntry struct {
	Receiver string `json:"receiver"`
	Sent     bool   `json:"sent"`
	Error    string `json:"error,omitempty"`
}

// NewNotify returns the command notify.
func NewNotify(a *app.App) *cobra.Command {
	return app.Group(a, "notify", "Try who is told about runs",
		a.Command("test [NAME|URL]", "Send a test message to each receiver, or to one", app.Takes(0, 1), func(cmd *cobra.Command, args []string) error {
			list, path, err := Configured(a)
			if len(args) > 0 && err == nil {
				one, wrong := list.Named(args[0], path)
				list, err = notify.Receivers{one}, wrong
				err = app.Wrong(err)
			}
			switch {
			case err != nil:
				return err
			case len(list) == 0:
				return app.Usagef("there is no receiver; write notify \"NAME\" { to = … } in %s, or name an address", path)
			}
			return testReceivers(cmd, a, list)
		}))
}

func testReceivers(cmd *cobra.Command, a *app.App, list notify.Receivers) error {
	out, failed := NotifiedJSON{make([]NotifiedEntry, len(list))}, false
	parallel.Do(len(list), len(list), func(i int) {
		out.Receivers[i] = NotifiedEntry{Receiver: list[i].Name, Sent: true}
		if err := list[i].Send(cmd.Context(), notify.Test); err != nil {
			out.Receivers[i] = NotifiedEntry{list[i].Name, false, err.Error()}
		}
	})
	t := view.NewTable("Receiver", "Message")
	for _, e := range out.Receivers {
		failed = failed || !e.Sent
		t.Row(e.Receiver, view.Either(e.Sent, "sent", "failed: "+e.Error))
	}
	return app.Failing(a.Show(out, func() { a.Table(t) }), failed)
}
