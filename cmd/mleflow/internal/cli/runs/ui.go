package runs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/history"
)

// uiPort is where the page is served unless another port is named or the port
// is taken.
const uiPort = 7430

// NewUI returns the command ui.
func NewUI(a *app.App) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a local page: runs as they happen, attempts, agents, competitions",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			return serveUI(cmd.Context(), a, port, cmd.Flags().Changed("port"))
		}),
	}
	cmd.Flags().IntVar(&port, "port", uiPort, "serve at port `N` of 127.0.0.1 (0: any); by default another if it is taken")
	return cmd
}

func serveUI(ctx context.Context, a *app.App, port int, given bool) error {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && !given {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("serve the page: %w; name another port with --port, or 0 for any", err)
	}
	runs, err := a.OpenHistory()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	lent := &lending{Store: a.Store}
	defer app.FewCollections()() // a page of a large run leaves much garbage at once
	pages := ui.New(ctx, ui.Source{History: runs, Results: lent.use, Catalog: func(past *history.Past) (*competitions.Catalog, error) { return catalogOf(a, past) }, Kept: lent.kept, Version: app.ThisVersion().Version})
	name := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	guard := ui.NewGuard(name, pages)
	address := "http://127.0.0.1:" + name + "/?token=" + guard.Token()
	if a.JSON {
		err = app.WriteJSON(a.Stdout, map[string]string{"address": address})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "Open %s\nThe token in it is the key to the page. Ctrl-C ends it.\n", address)
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return errors.Join(ui.Serve(ctx, l, guard), lent.close())
}

// catalogOf are the competitions that are known for a run: also those that its
// pipeline names.
func catalogOf(a *app.App, past *history.Past) (*competitions.Catalog, error) {
	own := &app.Library{Terminal: a.Terminal, CompetitionDirs: a.CompetitionDirs}
	if past != nil {
		if err := own.UseRun(past); err != nil {
			return nil, err
		}
	}
	return own.Catalog()
}

// idle is how long the cache stays open after its last use. While it is open,
// what was read of it cannot be collected.
const idle = 10 * time.Second

// lending opens the cache when it is needed and closes it when it has not been
// for a while, so that a page that is left open does not keep what it showed from
// being collected.
type lending struct {
	*app.Store
	mu    sync.Mutex
	cache *disk.Cache
	users int
	timer *time.Timer
}

// use implements ui.Source.Results.
func (l *lending) use(past *history.Past, use func(ui.Results) error) error {
	var loc remote.Location
	var err error
	if past != nil {
		if loc, err = l.RemoteOf(past); err != nil {
			return err
		}
	}
	c, err := l.take()
	if err != nil {
		return err
	}
	defer l.put()
	if loc.IsZero() {
		return use(c)
	}
	r := remote.NewReader(c, loc, remote.Options{Warn: l.Warn})
	return errors.Join(use(r), r.Close())
}

// kept implements ui.Source.Kept.
func (l *lending) kept(key string) (string, error) {
	c, err := l.take()
	if err != nil {
		return "", err
	}
	defer l.put()
	return ui.KeptIn(context.Background(), c, key)
}

func (l *lending) take() (*disk.Cache, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == nil {
		c, err := l.OpenCache()
		if err != nil {
			return nil, err
		}
		l.cache = c
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.users++
	return l.cache, nil
}

func (l *lending) put() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.timer = time.AfterFunc(idle, func() { _ = l.close() })
	}
}

// close closes the cache unless it is in use.
func (l *lending) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == nil || l.users > 0 {
		return nil
	}
	c := l.cache
	l.cache = nil
	return c.Close()
}
