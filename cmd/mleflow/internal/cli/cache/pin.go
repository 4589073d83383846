package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/history"
)

func newCachePin(a *app.App) *cobra.Command {
	var name string
	cmd := command(a, "pin [RUN|ADDRESS|ACTION]...", "Keep results from being evicted; without arguments list the pins", app.Takes(0, -1),
		func(ctx context.Context, c *disk.Cache, args []string) error {
			if len(args) == 0 {
				return showPins(ctx, a.Terminal, c)
			}
			return pinResults(ctx, a.Terminal, c, name, args)
		})
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the pin")
	return cmd
}

func pinResults(ctx context.Context, t *app.Terminal, c *disk.Cache, name string, refs []string) error {
	items, err := c.List(ctx)
	if err != nil {
		return err
	}
	p := disk.Pin{Name: cmp.Or(name, refs[0]), CreatedUnixMilli: time.Now().UnixMilli()}
	for _, ref := range refs {
		actions, err := actionsOf(c, items, ref)
		if err != nil {
			return err
		}
		p.Actions = append(p.Actions, actions...)
	}
	if err := c.Pin(ctx, p); err != nil {
		return err
	}
	return t.Show(p, func() { fmt.Fprintf(t.Stdout, "Pinned %s as %s.\n", view.Plural(len(p.Actions), "result"), p.Name) })
}

// actionsOf returns the actions that a run, an address or the beginning of an
// action's digest names.
func actionsOf(c *disk.Cache, items []disk.Item, ref string) ([]digest.ActionID, error) {
	if strings.HasPrefix(ref, "step.") {
		return actionOfAddress(items, ref)
	}
	past, err := history.New(c.Dir()).Find(ref)
	if err == nil {
		return actionsOfRun(past, items)
	}
	found := lists.Where(items, func(item disk.Item) bool { return len(ref) >= 6 && strings.HasPrefix(item.Action.String(), ref) })
	switch len(found) {
	case 1:
		return []digest.ActionID{found[0].Action}, nil
	case 0:
		return nil, app.Usagef("pin %s: there is no such run, step address or action; see mleflow runs and mleflow cache ls", ref)
	}
	return nil, app.Usagef("pin %s: %d actions begin with it", ref, len(found))
}

// actionOfAddress returns the newest action of an address.
func actionOfAddress(items []disk.Item, address string) ([]digest.ActionID, error) {
	var newest *disk.Item
	for i := range items {
		if items[i].Address == address && (newest == nil || items[i].RecordedUnixMilli >= newest.RecordedUnixMilli) {
			newest = &items[i]
		}
	}
	if newest == nil {
		return nil, app.Usagef("pin %s: the cache has no such result; mleflow cache ls lists its results", address)
	}
	return []digest.ActionID{newest.Action}, nil
}

// actionsOfRun returns the actions of a run whose results are still there.
func actionsOfRun(past *history.Past, items []disk.Item) ([]digest.ActionID, error) {
	sum, err := past.Summary()
	if err != nil {
		return nil, err
	}
	var found []digest.ActionID
	for _, s := range sum.Steps {
		id, err := digest.ParseActionID(s.Action)
		if err == nil && slices.ContainsFunc(items, func(i disk.Item) bool { return i.Action == id }) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return nil, app.Usagef("pin %s: none of the run's results are in the cache", past.Info.ID)
	}
	return found, nil
}

func showPins(ctx context.Context, term *app.Terminal, c *disk.Cache) error {
	pins, err := c.Pins(ctx)
	if err != nil {
		return err
	}
	return term.Show(map[string]any{"pins": append([]disk.Pin{}, pins...)}, func() {
		t := view.NewTable("Pin", ">Results", "Made")
		for _, p := range pins {
			t.Row(p.Name, fmt.Sprint(len(p.Actions)+len(p.Refs)), time.UnixMilli(p.CreatedUnixMilli).Format(time.DateTime))
		}
		term.Table(t)
	})
}

func newCacheUnpin(a *app.App) *cobra.Command {
	return command(a, "unpin NAME", "Remove a pin", app.Takes(1, 1), func(ctx context.Context, c *disk.Cache, args []string) error {
		err := c.Unpin(ctx, args[0])
		if errors.Is(err, cache.ErrNotFound) {
			return app.Usagef("no pin %q; mleflow cache pin lists the pins", args[0])
		}
		return err
	})
}
