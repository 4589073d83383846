package cache

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

func newCacheVerify(a *app.App) *cobra.Command {
	var full, quick bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check what is in the cache and set aside what is damaged",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			return a.WithCache(func(c *disk.Cache) error { return verifyCache(cmd.Context(), a.Terminal, c, full) })
		}),
	}
	cmd.Flags().BoolVar(&full, "full", false, "read every byte of every object")
	cmd.Flags().BoolVar(&quick, "quick", false, "read only what was written to since it was stored")
	_ = cmd.Flags().MarkHidden("quick") // what it does without --full
	cmd.MarkFlagsMutuallyExclusive("full", "quick")
	return cmd
}

func verifyCache(ctx context.Context, t *app.Terminal, c *disk.Cache, full bool) error {
	var now atomic.Pointer[disk.VerifyProgress]
	now.Store(&disk.VerifyProgress{})
	stop := t.Meter("verify", func() view.Work { return verifyWork(now.Load()) })
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

// verifyWork tells how far a verification is; its rates are those of what is read.
func verifyWork(p *disk.VerifyProgress) (w view.Work) {
	w.Done, w.Total, w.Unit, w.Bytes, w.TotalBytes = p.Objects, p.TotalObjects, "objects", p.Bytes, p.TotalBytes
	w.Found, w.FoundBytes = p.Objects-p.Read, p.Bytes-p.ReadBytes
	return w
}

// VerifiedJSON is the form of cache verify --json.
type VerifiedJSON struct {
	Objects     int64         `json:"objects"`
	Hashed      int64         `json:"hashed"`
	Resumed     int64         `json:"resumed"`
	HashedBytes int64         `json:"hashed_bytes"`
	Records     int           `json:"records"`
	Damages     []disk.Damage `json:"damages"`
	Notes       []string      `json:"notes,omitempty"`
}

func showVerified(t *app.Terminal, r disk.VerifyResult) error {
	out := VerifiedJSON{r.Objects, r.Hashed, r.Resumed, r.HashedBytes, r.Records, append([]disk.Damage{}, r.Damages...), r.Notes}
	err := t.Show(out, func() {
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
