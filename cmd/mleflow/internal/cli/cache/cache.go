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
	return app.Group(a, "cache", "Manage the cache: info, ls, verify, gc, pin, unpin, push, pull", newCacheInfo(a), newCacheLs(a), newCacheVerify(a), newCacheGC(a), newCachePin(a), newCacheUnpin(a), newCachePush(a), newCachePull(a))
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
				return showCacheInfo(a.Terminal, info)
			})
		}),
	}
}

func showCacheInfo(t *app.Terminal, i disk.Info) error {
	if t.JSON {
		return app.WriteJSON(t.Stdout, i)
	}
	quota := "none (set MLEFLOW_CACHE_QUOTA, such as 500GiB)"
	if i.Quota > 0 {
		quota = fmt.Sprintf("%s, %d %% used", view.Bytes(i.Quota), (i.Bytes+i.Reserved)*100/i.Quota)
	}
	folder := i.Dir
	if i.ReadOnly {
		folder += " (read-only)"
	}
	for _, row := range [][2]string{
		{"folder", folder},
		{"content", fmt.Sprintf("%s in %s", view.Bytes(i.Bytes-i.CopiedBytes), view.Plural(int(i.Objects), "object"))},
		{"quota", quota},
		{"disk", view.Bytes(i.DiskFree) + " free"},
		{"results", fmt.Sprintf("%s, %s, %s of evicted ones", view.Plural(i.Records, "record"), view.Plural(i.Pins, "pin"), view.Plural(i.Tombstones, "trace"))},
		{"processes", fmt.Sprintf("%d have it open", i.Processes)},
	} {
		fmt.Fprintf(t.Stdout, "%-10s %s\n", row[0], row[1])
	}
	if i.Copies > 0 {
		fmt.Fprintf(t.Stdout, "%-10s %s in %s with data that attempts share\n", "copies", view.Bytes(i.CopiedBytes), view.Plural(i.Copies, "folder"))
	}
	if i.LinkFolders > 0 {
		fmt.Fprintf(t.Stdout, "%-10s %s of links to data, for the next attempts\n", "links", view.Plural(i.LinkFolders, "folder"))
	}
	if i.Reserved > 0 {
		fmt.Fprintf(t.Stdout, "%-10s %s for running work\n", "reserved", view.Bytes(i.Reserved))
	}
	if i.Kept > 0 {
		fmt.Fprintf(t.Stdout, "%-10s %s of agents that may continue\n", "kept", view.Plural(i.Kept, "work folder"))
	}
	if i.Quarantined > 0 {
		fmt.Fprintf(t.Stdout, "%-10s %s\n", "damaged", t.OutStyle().Warn(view.Plural(i.Quarantined, "object")+" set aside"))
	}
	return nil
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
				prefix := ""
				if len(args) == 1 {
					prefix = args[0]
				}
				return showItems(a.Terminal, items, prefix)
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
	if term.JSON {
		return app.WriteJSON(term.Stdout, map[string]any{"records": shown})
	}
	t := view.NewTable("Step", "Action", ">Size", ">Files", "Recorded", "Pins")
	for _, item := range view.InOrder(shown, func(item disk.Item) string { return item.Address }) {
		t.Row(item.Address, item.Action.Short(), view.Bytes(item.Size), view.Count(item.Files),
			time.UnixMilli(item.RecordedUnixMilli).Format("2006-01-02 15:04:05"), strings.Join(item.Pins, ", "))
	}
	return t.Write(term.Stdout, term.OutStyle())
}
