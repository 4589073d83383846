package runs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// uiPort is where the page is served unless another port is named or the port
// is taken.
const uiPort = 7430

// uiOptions are the flags of ui.
type uiOptions struct {
	port           int
	portGiven      bool
	url, tokenFile string
}

// NewUI returns the command ui.
func NewUI(a *app.App) *cobra.Command {
	var o uiOptions
	cmd := a.Command("ui", "Serve a local page: runs as they happen, attempts, agents, competitions", app.Takes(0, 0),
		func(cmd *cobra.Command, _ []string) error {
			a.Interrupts.Outlived()
			o.portGiven = cmd.Flags().Changed("port") || o.url != ""
			return serveUI(cmd.Context(), a, o)
		})
	cmd.Flags().IntVar(&o.port, "port", uiPort, "serve at port `N` of 127.0.0.1 (0: any); by default another if it is taken")
	cmd.Flags().StringVar(&o.url, "url", "", "`URL` at which a reverse proxy of this machine serves the page, such as https://lab.example.org/mleflow")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "", "keep the token in `FILE`, so that it stays valid; the file is made if it does not exist")
	return cmd
}

func serveUI(ctx context.Context, a *app.App, o uiOptions) error {
	at, err := PageURL(o.url)
	if err != nil {
		return app.Usagef("--url: %w", err)
	}
	token := ui.Secret()
	if o.tokenFile != "" {
		if token, err = KeptToken(o.tokenFile); err != nil {
			return fmt.Errorf("read the token: %w", err)
		}
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil && !o.portGiven {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("serve the page: %w; name another port with --port, or 0 for any", err)
	}
	pages, end, err := Pages(ctx, a, at.Path)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer app.FewCollections()() // a page of a large run leaves much garbage at once
	name := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	guard := ui.NewGuard(name, token, at, pages)
	address := "http://127.0.0.1:" + name + "/?token=" + token
	if o.url != "" {
		address = at.String() + "/#token=" + token // proxies log queries
	}
	err = a.Show(map[string]string{"address": address}, func() {
		fmt.Fprintf(a.Stdout, "Open %s\nThe token in it is the key to the page. Ctrl-C ends it.\n", address)
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return errors.Join(service.Serve(ctx, l, guard, ui.Limits), end())
}

// Pages returns the pages over the cache, below a path, and what ends their use of it. They
// lead to more pages.
func Pages(ctx context.Context, a *app.App, base string, more ...page.Link) (*ui.UI, func() error, error) {
	runs, err := a.OpenHistory()
	if err != nil {
		return nil, nil, err
	}
	lent := &lending{Store: a.Store}
	lent.timer = time.AfterFunc(idle, func() { _ = lent.close() })
	catalogOf := func(past *history.Past) (*competitions.Catalog, error) { // also those that its pipeline names
		return (&app.Library{Terminal: a.Terminal, CompetitionDirs: a.CompetitionDirs}).CatalogOf(past)
	}
	return ui.New(ctx, ui.Source{History: runs, Results: lent.use, Catalog: catalogOf, Kept: lent.kept, Version: app.ThisVersion().Version, Base: base, More: more}), lent.close, nil
}

// basePath matches the path of a PageURL. It may have no dots alone, which proxies and browsers
// resolve.
var basePath = pattern.New(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// PageURL reads the address of pages, without a final slash and default port.
func PageURL(text string) (at url.URL, err error) {
	if text == "" {
		return at, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return at, fmt.Errorf("%.200q is not an address", source.RedactText(text))
	}
	at = url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: strings.TrimSuffix(u.Path, "/")}
	plain := u.Scheme == "http" && ui.Loopback(at.Host)
	switch {
	case at.Hostname() == "" || !strings.EqualFold(strings.TrimSuffix(text, "/"), at.String()) || !basePath.Regexp().MatchString(at.Path):
		return at, errors.New("write https://HOST/PATH, with a PATH of letters, digits, hyphens, dots and underscores, and nothing after it")
	case u.Scheme != "https" && !plain:
		return at, errors.New("the address must begin with https://, since the token and the cookie pass the network; http:// is for localhost")
	}
	at.Host = strings.TrimSuffix(at.Host, view.Either(plain, ":80", ":443")) // as browsers write it
	return at, nil
}

// KeptToken returns the token in a file that only this user can read, which is made if it does
// not exist.
func KeptToken(path string) (string, error) {
	token, err := app.KeptSecret(path, ui.Secret())
	if err == nil && !tokenText.Regexp().MatchString(token) {
		err = app.Usagef("%s does not hold a token of 32 to 200 letters, digits, hyphens and underscores; remove it so that one is made", path)
	}
	return token, err
}

var tokenText = pattern.New(`^[A-Za-z0-9_-]{32,200}$`)

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
	c, err := l.take()
	if err != nil {
		return err
	}
	defer l.put()
	return l.ResultsIn(c, past, func(r app.ResultCache) error { return use(r) })
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

func (l *lending) take() (_ *disk.Cache, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == nil {
		if l.cache, err = l.OpenCache(); err != nil {
			return nil, err
		}
	}
	l.timer.Stop()
	l.users++
	return l.cache, nil
}

func (l *lending) put() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.timer.Reset(idle)
	}
}

// close closes the cache unless it is in use.
func (l *lending) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == nil || l.users > 0 {
		return nil
	}
	defer func() { l.cache = nil }()
	return l.cache.Close()
}
