package cache

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

func newCacheGC(a *app.App) *cobra.Command {
	var maxSize string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what nothing needs, or the least recently used down to a size",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			opts := disk.GCOptions{DryRun: dryRun}
			if cmd.Flags().Changed("max-size") {
				size, err := step.ParseBytes(maxSize)
				if err != nil {
					return app.Usagef("--max-size: %w", err)
				}
				opts.MaxSize = max(1, size)
			}
			return a.WithCache(func(c *disk.Cache) error {
				if err := nextSecond(cmd.Context()); err != nil {
					return err
				}
				var now atomic.Pointer[disk.GCProgress]
				now.Store(&disk.GCProgress{What: "counting"})
				opts.Progress = func(p disk.GCProgress) { now.Store(&p) }
				stop := a.Meter("gc", func() view.Work { return collectionWork(now.Load()) })
				result, err := c.GC(cmd.Context(), opts)
				stop()
				if err != nil {
					return err
				}
				return showCollected(a.Terminal, result, dryRun)
			})
		}),
	}
	cmd.Flags().StringVar(&maxSize, "max-size", "", "evict results down to `SIZE`, such as 500GiB")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be removed")
	return cmd
}

// collectionWork tells how far a collection is.
func collectionWork(p *disk.GCProgress) (w view.Work) {
	w.What, w.Done, w.Total, w.Unit = p.What, p.Done, p.Total, "objects"
	if p.Removed > 0 {
		w.What += "; removed " + view.Bytes(p.Removed)
	}
	return w
}

// nextSecond waits until the clock's second has passed. Files have whole seconds,
// and a collection keeps what is not older than itself, since another process
// may be publishing it: what the command before this one made is older then.
func nextSecond(ctx context.Context) error {
	now := time.Now()
	return progress.Sleep(ctx, now.Truncate(time.Second).Add(time.Second).Sub(now))
}

// CollectedJSON is the form of cache gc --json.
type CollectedJSON struct {
	Evicted     []disk.Item `json:"evicted"`
	Objects     int64       `json:"objects"`
	Copies      int64       `json:"copies"`
	Bytes       int64       `json:"bytes"`
	ObjectsLeft int64       `json:"objects_left"`
	BytesLeft   int64       `json:"bytes_left"`
	DiskBytes   int64       `json:"disk_bytes"`
	Kept        string      `json:"kept,omitempty"`
	DryRun      bool        `json:"dry_run"`
}

func showCollected(t *app.Terminal, r disk.GCResult, dryRun bool) error {
	if t.JSON {
		return app.WriteJSON(t.Stdout, CollectedJSON{append([]disk.Item{}, r.Evicted...), r.Objects, r.Copies, r.Bytes, r.ObjectsLeft, r.BytesLeft, r.DiskBytes, r.Kept, dryRun})
	}
	verb := "Removed"
	if dryRun {
		verb = "Would remove"
	}
	for _, item := range r.Evicted {
		fmt.Fprintf(t.Stdout, "evicted %s (%s)\n", item.Address, view.Bytes(item.Size))
	}
	removed := view.Plural(int(r.Objects), "object")
	if r.Copies > 0 {
		removed += " and " + view.Plural(int(r.Copies), "shared folder")
	}
	fmt.Fprintf(t.Stdout, "%s %s, %s; %s in %s left.\n", verb, removed, view.Bytes(r.Bytes),
		view.Bytes(r.BytesLeft), view.Plural(int(r.ObjectsLeft), "object"))
	if linked := r.Bytes - r.DiskBytes; linked > 0 {
		fmt.Fprintf(t.Stdout, "%s of that are linked from folders outside the cache, and keep their space until those are removed.\n", view.Bytes(linked))
	}
	if r.Kept != "" {
		fmt.Fprintf(t.Stdout, "%s %s\n", t.OutStyle().Warn("Larger than requested:"), r.Kept)
	}
	return nil
}
