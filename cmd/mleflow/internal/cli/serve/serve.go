package serve

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	sandbox "github.com/mleflow/mleflow/plugins/sandbox/service"
)

// openAPI is the document of Routes, which make docs writes.
//
//go:embed openapi.json
var openAPI []byte

// NewServe returns the command serve. tools returns the tools of package mcp.
func NewServe(a *app.App, tools func() mcp.Options) *cobra.Command {
	var config string
	cmd := a.Command("serve", "Serve pages and an HTTP API for several people, and run what they submit", app.Needs(app.Takes(0, 0), "config"),
		func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), a, config, tools) })
	cmd.Flags().StringVar(&config, "config", "", "`FILE` that says who may sign in and what may run (required)")
	cmd.AddCommand(newToken(a))
	return cmd
}

// TokenJSON is the output of serve token in JSON.
type TokenJSON struct {
	Token  string `json:"token"`
	SHA256 string `json:"token_sha256"`
}

func newToken(a *app.App) *cobra.Command {
	return a.Command("token", "Make a token for a person, and print what belongs into the server's file", app.Takes(0, 0), func(*cobra.Command, []string) error {
		token := ui.Secret()
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
		return a.Show(TokenJSON{token, sum}, func() {
			fmt.Fprintf(a.Stdout, "Give this token to one person, who keeps it secret:\n\n  %s\n\nAdd to the server's file:\n\n  user \"NAME\" {\n    role         = \"operator\"\n    token_sha256 = %q\n  }\n", token, sum)
		})
	})
}

// folder is the folder of the cache in which package service has its queue.
const folder = "service"

func run(ctx context.Context, a *app.App, config string, tools func() mcp.Options) (err error) {
	s, err := read(ctx, config)
	if err != nil {
		return err
	}
	a.Interrupts.Outlived()
	for _, name := range s.Pass {
		s.options.Environ = append(s.options.Environ, name+"="+a.Env(name))
	}
	cache, err := a.CacheFolder()
	if err == nil {
		err = a.WithCache(func(*disk.Cache) error { return nil }) // it is made before its queue
	}
	if err != nil {
		return err
	}
	s.options.Say = a.Say
	queue, err := service.Open(cache, s.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	rollouts, endRollouts, err := openRollouts(ctx, a, s, cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endRollouts()) }()
	key, acts, err := kept(cache)
	if err != nil {
		return err
	}
	defer acts.Close()
	pages, end, err := runs.Pages(ctx, a, s.at.Path, queueLink)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	l, limits, err := listen(s)
	if err != nil {
		return err
	}
	defer app.FewCollections()()
	h := newServer(s, key, pages, queue, tools(), func() *app.App { return quiet(a) }, acts)
	h.rollouts = rollouts
	err = a.Show(map[string]string{"address": s.at.String(), "listen": l.Addr().String()}, func() {
		fmt.Fprintf(a.Stdout, "Serving %s at %s.\nPeople sign in with their tokens. Ctrl-C ends it; the next server continues what runs.\n", s.at.String(), l.Addr())
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return queue.Run(ctx) })
	if rollouts != nil {
		both.Go(func() error { return rollouts.Run(ctx) })
	}
	both.Go(func() error { return sandbox.Serve(ctx, l, h, limits) })
	return both.Wait()
}

// listen opens the address of the server. limits have its keys for HTTPS, from TLS 1.2 on.
func listen(s *settings) (l net.Listener, limits sandbox.Limits, err error) {
	limits = ui.Limits
	if s.TLS != nil {
		c := &keyPair{tlsBlock: *s.TLS}
		if _, err := c.get(nil); err != nil {
			return nil, limits, app.Usagef("tls: %w", err)
		}
		limits.TLS = &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}
	}
	if l, err = net.Listen("tcp", s.Listen); err != nil {
		err = fmt.Errorf("listen: %w; change listen in the server's file", err)
	}
	return l, limits, err
}

// keyPair is a certificate with its key, whose files are read again once they have changed.
type keyPair struct {
	tlsBlock
	mu   sync.Mutex
	of   [2]time.Time
	pair *tls.Certificate
}

// get returns the certificate. While its new files cannot be read, such as when only one has been
// renewed, it is the earlier one.
func (c *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var now [2]time.Time
	for i, path := range []string{c.Certificate, c.Key} {
		if info, err := os.Stat(path); err == nil {
			now[i] = info.ModTime()
		}
	}
	if c.pair != nil && now == c.of {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
	if err == nil {
		c.pair, c.of = &pair, now
	} else if c.pair != nil {
		err = nil
	}
	return c.pair, err
}

// kept returns the key that signs cookies and links, and the file of acts. Only this user can
// read them.
func kept(cache string) (key []byte, acts io.WriteCloser, err error) {
	dir := filepath.Join(cache, folder)
	text, err := runs.KeptToken(filepath.Join(dir, "key"))
	if err != nil {
		return nil, nil, fmt.Errorf("read the key of the server: %w", err)
	}
	f, err := nolink.OpenFile(filepath.Join(dir, "acts.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return []byte(text), f, err
}

// quiet returns an app on the same cache that prints nothing and remembers nothing.
func quiet(a *app.App) *app.App {
	own := app.NewApp(&app.Terminal{Stdout: io.Discard, Stderr: io.Discard, Environ: a.Environ})
	own.CacheDir, own.RemoteCache, own.CompetitionDirs = a.CacheDir, a.RemoteCache, a.CompetitionDirs
	return own
}
