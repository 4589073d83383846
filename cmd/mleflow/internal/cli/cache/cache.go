package cache

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

// NewCache returns the command cache.
func NewCache(a *app.App) *cobra.Command {
	return app.Group(a, "cache", "Manage the cache: init, info, ls, verify, repair, gc, pin, unpin, push, pull", newCacheInit(a), newCacheInfo(a), newCacheLs(a), newCacheVerify(a), newCacheRepair(a), newCacheGC(a), newCachePin(a), newCacheUnpin(a), newTransfer(a, "push", "Store results in the remote cache", localRecords), newTransfer(a, "pull", "Fetch results from the remote cache", remoteRecords))
}

// command returns a command about the open cache.
func command(a *app.App, use, short string, args cobra.PositionalArgs, run func(context.Context, *disk.Cache, []string) error) *cobra.Command {
	return a.Command(use, short, args, func(cmd *cobra.Command, args []string) error {
		return a.WithCache(func(c *disk.Cache) error { return run(cmd.Context(), c, args) })
	})
}

func newCacheInfo(a *app.App) *cobra.Command {
	return command(a, "info", "Show where the cache is, what it contains and its limits", app.Takes(0, 0),
		func(ctx context.Context, c *disk.Cache, _ []string) error {
			info, err := c.Info(ctx)
			if err != nil {
				return err
			}
			return a.Show(info, func() { writeCacheInfo(a.Terminal, info) })
		})
}

func writeCacheInfo(t *app.Terminal, i disk.Info) {
	quota := "none (set MLEFLOW_CACHE_QUOTA, such as 500GiB)"
	if i.Quota > 0 {
		quota = fmt.Sprintf("%s, %d %% used", view.Bytes(i.Quota), (i.Bytes+i.Reserved)*100/i.Quota)
	}
	for _, row := range []struct {
		shown      bool
		name, text string
	}{
		{true, "folder", i.Dir + view.When(i.ReadOnly, " (read-only)")},
		{i.Shared, "shared", "by a group; a user's attempts copy what other users stored, since the kernel lets nobody link others' files (fs.protected_hardlinks)"},
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
	return command(a, "ls [ADDRESS]", "List the results in the cache, of steps whose address begins with ADDRESS", app.Takes(0, 1),
		func(ctx context.Context, c *disk.Cache, args []string) error {
			items, err := c.List(ctx)
			if err != nil {
				return err
			}
			return showItems(a.Terminal, items, strings.Join(args, ""))
		})
}

func showItems(term *app.Terminal, items []disk.Item, prefix string) error {
	shown := slices.DeleteFunc(append([]disk.Item{}, items...), func(i disk.Item) bool { return !strings.HasPrefix(i.Address, prefix) })
	return term.Show(map[string]any{"records": shown}, func() {
		t := view.NewTable("Step", "Action", ">Size", ">Files", "Recorded", "Pins")
		for _, item := range view.InOrder(shown, func(item disk.Item) string { return item.Address }) {
			t.Row(item.Address, item.Action.Short(), view.Bytes(item.Size), view.Count(item.Files),
				time.UnixMilli(item.RecordedUnixMilli).Format(time.DateTime), strings.Join(item.Pins, ", "))
		}
		term.Table(t)
	})
}

func newCacheInit(a *app.App) *cobra.Command {
	var group string
	cmd := a.Command("init", "Make a cache that a group of users shares, or restore the group's rights", app.Takes(0, 0),
		func(*cobra.Command, []string) error {
			if group == "" {
				return app.Usagef("cache init needs --shared GROUP; a cache of one user needs no command, the first apply makes it")
			}
			folder, err := a.CacheFolder()
			if err != nil {
				return err
			}
			made, err := disk.InitShared(folder, group)
			if err != nil {
				return err
			}
			return a.Show(made, func() {
				fmt.Fprintf(a.Stdout, "The group %s shares the cache %s. Each member sets MLEFLOW_CACHE_DIR=%s.\n", made.Group, made.Dir, made.Dir)
				for _, name := range slices.Sorted(maps.Keys(made.Others)) {
					fmt.Fprintf(a.Stdout, "%s of %s cannot be used by the group yet; %s gives them by the same command.\n", view.Plural(made.Others[name], "file or folder"), name, name)
				}
			})
		})
	cmd.Flags().StringVar(&group, "shared", "", "the `GROUP`, by name or number, whose members share the cache")
	return cmd
}

func newCacheVerify(a *app.App) *cobra.Command {
	var full, quick bool
	cmd := command(a, "verify", "Check what is in the cache and set aside what is damaged", app.Takes(0, 0),
		func(ctx context.Context, c *disk.Cache, _ []string) error {
			return verifyCache(ctx, a.Terminal, c, full)
		})
	cmd.Flags().BoolVar(&full, "full", false, "read every byte of every object")
	cmd.Flags().BoolVar(&quick, "quick", false, "read only what was written to since it was stored")
	_ = cmd.Flags().MarkHidden("quick") // what it does without --full
	cmd.MarkFlagsMutuallyExclusive("full", "quick")
	return cmd
}

func verifyCache(ctx context.Context, t *app.Terminal, c *disk.Cache, full bool) error {
	var now atomic.Pointer[disk.VerifyProgress]
	now.Store(&disk.VerifyProgress{})
	stop := t.Meter("verify", func() (w view.Work) { // its rates are those of what is read
		p := now.Load()
		w.Done, w.Total, w.Unit, w.Bytes, w.TotalBytes = p.Objects, p.TotalObjects, "objects", p.Bytes, p.TotalBytes
		w.Found, w.FoundBytes = p.Objects-p.Read, p.Bytes-p.ReadBytes
		return w
	})
	result, err := c.Verify(ctx, disk.VerifyOptions{Full: full, Progress: func(p disk.VerifyProgress) { now.Store(&p) }})
	stop()
	if err != nil {
		if full && ctx.Err() != nil && !c.ReadOnly() {
			t.Say("Interrupted; the next mleflow cache verify --full continues from here.")
		}
		return err
	}
	return showVerified(t, result)
}

// VerifiedJSON is the form of cache verify --json.
type VerifiedJSON disk.VerifyResult

func showVerified(t *app.Terminal, r disk.VerifyResult) error {
	r.Damages = append([]disk.Damage{}, r.Damages...)
	err := t.Show(VerifiedJSON(r), func() {
		for _, d := range r.Damages {
			fmt.Fprintln(t.Stdout, t.OutStyle().Bad("Damaged:")+" "+damageText(d))
		}
		for _, text := range r.Notes {
			fmt.Fprintln(t.Stdout, t.OutStyle().Warn("Note:")+" "+view.OneLine(text))
		}
		fmt.Fprintf(t.Stdout, "%s and %s checked, %s read: %d damaged.\n", view.Plural(int(r.Objects), "object"),
			view.Plural(r.Records, "record"), view.Bytes(r.HashedBytes), len(r.Damages))
	})
	if err == nil && len(r.Damages) > 0 {
		err = fmt.Errorf("%w: %w", app.ErrSilent, step.ErrMismatch)
	}
	return err
}

func damageText(d disk.Damage) string {
	switch {
	case d.Address != "":
		return view.OneLine(d.Address) + ": " + view.OneLine(d.Text)
	case !d.Object.IsZero():
		return "object " + d.Object.Short() + ": " + view.OneLine(d.Text)
	}
	return view.OneLine(d.Text)
}

func newCacheRepair(a *app.App) *cobra.Command {
	return command(a, "repair", "Write a damaged index again from its copy", app.Takes(0, 0), func(ctx context.Context, c *disk.Cache, _ []string) error {
		r, err := c.Repair(ctx)
		if err == nil {
			err = a.Show(r, func() { writeRepaired(a.Terminal, &r) })
		}
		if err == nil && r.Lost() {
			err = fmt.Errorf("%w: %w", app.ErrSilent, step.ErrMismatch)
		}
		return err
	})
}

func writeRepaired(t *app.Terminal, r *index.Rebuilt) {
	if r.Damage == "" {
		fmt.Fprintf(t.Stdout, "The index is whole, with %s.\n", view.Plural(r.Records, "record"))
		return
	}
	bad := func(label, text string) { fmt.Fprintln(t.Stdout, t.OutStyle().Bad(label)+" "+view.OneLine(text)) }
	bad("Damaged:", r.Damage)
	for _, address := range r.Dropped {
		bad("Lost:", address+": its content is missing")
	}
	if r.LostBytes != 0 {
		bad("Lost:", view.Either(r.LostBytes < 0, "an unknown number", "up to "+view.Bytes(r.LostBytes))+" of records, which the copy does not have either")
	}
	fmt.Fprintf(t.Stdout, "%s in the index, %d found again in its copy. What was there is kept: %s.\n",
		view.Plural(r.Records, "record"), r.Again, cmp.Or(strings.Join(r.Aside, ", "), "nothing"))
	if r.Lost() {
		fmt.Fprintln(t.Stdout, "Steps without a record run again, unless a remote cache has it. They reuse the content that is left, which mleflow cache gc removes.")
	}
}

func newCacheGC(a *app.App) *cobra.Command {
	var maxSize string
	var dryRun bool
	cmd := a.Command("gc", "Remove what nothing needs, or the least recently used down to a size", app.Takes(0, 0),
		func(cmd *cobra.Command, _ []string) error {
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
				stop := a.Meter("gc", func() (w view.Work) {
					p := now.Load()
					w.Done, w.Total, w.Unit = p.Done, p.Total, "objects"
					w.What = p.What + view.When(p.Removed > 0, "; removed "+view.Bytes(p.Removed))
					return w
				})
				result, err := c.GC(cmd.Context(), opts)
				stop()
				if err != nil {
					return err
				}
				return showCollected(a.Terminal, result, dryRun)
			})
		})
	cmd.Flags().StringVar(&maxSize, "max-size", "", "evict results down to `SIZE`, such as 500GiB")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be removed")
	return cmd
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
	disk.GCResult
	DryRun bool `json:"dry_run"`
}

func showCollected(t *app.Terminal, r disk.GCResult, dryRun bool) error {
	r.Evicted = append([]disk.Item{}, r.Evicted...)
	return t.Show(CollectedJSON{r, dryRun}, func() {
		for _, item := range r.Evicted {
			fmt.Fprintf(t.Stdout, "evicted %s (%s)\n", item.Address, view.Bytes(item.Size))
		}
		removed := view.Plural(int(r.Objects), "object") + view.When(r.Copies > 0, " and "+view.Plural(int(r.Copies), "shared folder"))
		fmt.Fprintf(t.Stdout, "%s %s, %s; %s in %s left.\n", view.Either(dryRun, "Would remove", "Removed"), removed, view.Bytes(r.Bytes),
			view.Bytes(r.BytesLeft), view.Plural(int(r.ObjectsLeft), "object"))
		if linked := r.Bytes - r.DiskBytes; linked > 0 {
			fmt.Fprintf(t.Stdout, "%s of that are linked from folders outside the cache, and keep their space until those are removed.\n", view.Bytes(linked))
		}
		if r.Kept != "" {
			fmt.Fprintf(t.Stdout, "%s %s\n", t.OutStyle().Warn("Larger than requested:"), r.Kept)
		}
	})
}
