package cache

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// NewCache returns the command cache.
func NewCache(a *app.App) *cobra.Command {
	return app.Group(a, "cache", "Manage the cache: info, ls, verify, gc, pin, unpin, push, pull", newCacheInfo(a), newCacheLs(a), newCacheVerify(a), newCacheGC(a), newCachePin(a), newCacheUnpin(a), newTransfer(a, "push", "Store results in the remote cache", localRecords), newTransfer(a, "pull", "Fetch results from the remote cache", remoteRecords))
}

func newCacheInfo(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "Show where the cache is, what it contains and its limits",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			return a.WithCache(func(c *disk.Cache) error {
				info, err := c.Info(cmd.Context())
				if err != nil {
					return err
				}
				return a.Show(info, func() { writeCacheInfo(a.Terminal, info) })
			})
		}),
	}
}

func writeCacheInfo(t *app.Terminal, i disk.Info) {
	quota := "none (set MLEFLOW_CACHE_QUOTA, such as 500GiB)"
	if i.Quota > 0 {
		quota = fmt.Sprintf("%s, %d %% used", view.Bytes(i.Quota), (i.Bytes+i.Reserved)*100/i.Quota)
	}
	folder := i.Dir
	if i.ReadOnly {
		folder += " (read-only)"
	}
	for _, row := range []struct {
		shown      bool
		name, text string
	}{
		{true, "folder", folder},
		{true, "content", fmt.Sprintf("%s in %s", view.Bytes(i.Bytes-i.CopiedBytes), view.Plural(int(i.Objects), "object"))},
		{true, "quota", quota},
		{true, "disk", view.Bytes(i.DiskFree) + " free"},
		{true, "results", fmt.Sprintf("%s, %s, %s of evicted ones", view.Plural(i.Records, "record"), view.Plural(i.Pins, "pin"), view.Plural(i.Tombstones, "trace"))},
		{true, "processes", fmt.Sprintf("%d have it open", i.Processes)},
		{i.Copies > 0, "copies", fmt.Sprintf("%s in %s with data that attempts share", view.Bytes(i.CopiedBytes), view.Plural(i.Copies, "folder"))},
		{i.LinkFolders > 0, "links", view.Plural(i.LinkFolders, "folder") + " of links to data, for the next attempts"},
		{i.Reserved > 0, "reserved", view.Bytes(i.Reserved) + " for running work"},
		{i.Kept > 0, "kept", view.Plural(i.Kept, "work folder") + " of agents that may continue"},
		{i.Quarantined > 0, "damaged", t.OutStyle().Warn(view.Plural(i.Quarantined, "object") + " set aside")},
	} {
		if row.shown {
			fmt.Fprintf(t.Stdout, "%-10s %s\n", row.name, row.text)
		}
	}
}

func newCacheLs(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ls [ADDRESS]",
		Short: "List the results in the cache, of steps whose address begins with ADDRESS",
		Args:  app.Takes(0, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			return a.WithCache(func(c *disk.Cache) error {
				items, err := c.List(cmd.Context())
				if err != nil {
					return err
				}
				return showItems(a.Terminal, items, strings.Join(args, ""))
			})
		}),
	}
}

func showItems(term *app.Terminal, items []disk.Item, prefix string) error {
	shown := []disk.Item{}
	for _, item := range items {
		if strings.HasPrefix(item.Address, prefix) {
			shown = append(shown, item)
		}
	}
	return term.Show(map[string]any{"records": shown}, func() {
		t := view.NewTable("Step", "Action", ">Size", ">Files", "Recorded", "Pins")
		for _, item := range view.InOrder(shown, func(item disk.Item) string { return item.Address }) {
			t.Row(item.Address, item.Action.Short(), view.Bytes(item.Size), view.Count(item.Files),
				time.UnixMilli(item.RecordedUnixMilli).Format(time.DateTime), strings.Join(item.Pins, ", "))
		}
		term.Table(t)
	})
}
