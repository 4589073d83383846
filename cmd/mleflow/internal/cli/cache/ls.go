package cache

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

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
