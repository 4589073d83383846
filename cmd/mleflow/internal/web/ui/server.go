package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/history"
)

// Results is the cache that results are read from.
type Results interface {
	cache.Files
	cache.Index
}

// Source provides the data of pages.
type Source struct {
	History *history.Store
	// Results gives use the cache of a run, with the remote cache of its pipeline
	// behind it; without a run, the local one.
	Results func(past *history.Past, use func(Results) error) error
	// Catalog are the competitions that are known for a run, or without one.
	Catalog func(past *history.Past) (*competitions.Catalog, error)
	// Kept is the folder of the local cache that is kept under a key.
	Kept    func(key string) (string, error)
	Version string
	// Now is the time; nil is time.Now.
	Now func() time.Time
}

// KeptIn is the folder that a cache keeps under a key.
func KeptIn(ctx context.Context, c cache.Keeper, key string) (string, error) {
	list, err := c.Kept(ctx)
	if err != nil {
		return "", err
	}
	for _, k := range list {
		if k.Key == key {
			return k.Dir, nil
		}
	}
	return "", errors.New("it is not on this machine, or the attempt has just ended")
}

// UI serves the pages. It is for the use behind a Guard.
type UI struct {
	Source
	runs    *runIndex
	results *resultIndex
	models  *models
	turns   *outlines
	mux     *http.ServeMux
	// token is in the forms of this process.
	token string
}

// New returns the pages over a source. The index of all results is built from
// the first request on, until ctx ends.
func New(ctx context.Context, src Source) *UI {
	if src.Now == nil {
		src.Now = time.Now
	}
	u := &UI{Source: src, mux: http.NewServeMux(), models: &models{}, turns: &outlines{}, token: secret()}
	u.runs = newRunIndex(src.History)
	u.results = newResultIndex(ctx, src)
	u.routes()
	return u
}

func (u *UI) routes() {
	pages := map[string]func(*http.Request) (*content, error){
		"/runs": u.runsPage, "/runs/{run}": u.tab("Overview", u.runPage), "/runs/{run}/steps": u.tab("Steps", u.stepsPage), "/runs/{run}/attempts": u.tab("Attempts", u.attemptsPage),
		"/runs/{run}/about": u.tab("About", u.aboutPage), "/step/{run}": u.stepPage, "/competitions": u.competitionsPage,
		"/competitions/{id}": u.competitionPage, "/agents": u.agentsPage, "/attempts": u.resultsPage, "/search": u.searchPage, "/agent": u.agentPage, "/compare": u.comparePage, "/help": u.helpPage,
	}
	for path, make := range pages {
		u.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, make) })
	}
	u.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/runs", http.StatusSeeOther) })
	u.mux.HandleFunc("/runs/{run}/report", u.report)
	u.mux.HandleFunc("/turns/{run}", u.turnPart)
	u.mux.HandleFunc("/find", u.find)
	u.mux.HandleFunc("POST /runs/{run}"+describeEnd, u.describe)
	u.mux.HandleFunc("/style.css", static("text/css; charset=utf-8", []byte(page.Style()+joined(".css"))))
	u.mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	u.mux.HandleFunc("/page.js", static("text/javascript; charset=utf-8", []byte(joined(".js"))))
	u.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		u.serve(w, r, func(*http.Request) (*content, error) { return nil, errNothing })
	})
}

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) { u.mux.ServeHTTP(w, r) }

func static(kind string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
	}
}

// Serve serves a handler on a listener until ctx ends.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: crash.Handler(h), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve pages: %w", err)
	case <-ctx.Done():
	}
	bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if s.Shutdown(bounded) != nil {
		_ = s.Close() // what still runs is cut off
	}
	return nil
}

// errNothing means that there is no such page, run, step or file.
var errNothing = errors.New("there is nothing at this address")
