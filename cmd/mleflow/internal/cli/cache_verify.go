package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

func newCacheVerify(a *app) *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read everything in the cache again and set aside what is damaged",
		Long:  "Hash every object again and set aside what does not match its name; the next apply\nmakes it again. The exit status is 3 when something was damaged.",
		Args:  takes(0, 0),
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.withCache(func(c *disk.Cache) error {
				result, err := c.Verify(cmd.Context(), !quick, nil)
				if err != nil {
					return err
				}
				return a.showVerified(result)
			})
		}),
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "read only what was written to since it was stored")
	return cmd
}

// verifiedJSON is the form of cache verify --json.
type verifiedJSON struct {
	Objects     int64         `json:"objects"`
	Hashed      int64         `json:"hashed"`
	HashedBytes int64         `json:"hashed_bytes"`
	Records     int           `json:"records"`
	Damages     []disk.Damage `json:"damages"`
}

func (a *app) showVerified(r disk.VerifyResult) error {
	if a.json {
		if r.Damages == nil {
			r.Damages = []disk.Damage{}
		}
		if err := writeJSON(a.stdout, verifiedJSON{r.Objects, r.Hashed, r.HashedBytes, r.Records, r.Damages}); err != nil {
			return err
		}
	} else {
		for _, d := range r.Damages {
			fmt.Fprintln(a.stdout, a.outStyle().Bad("Damaged:")+" "+damageText(d))
		}
		fmt.Fprintf(a.stdout, "%s and %s looked at, %s read: %d damaged.\n", view.Plural(int(r.Objects), "object"),
			view.Plural(r.Records, "record"), view.Bytes(r.HashedBytes), len(r.Damages))
	}
	if len(r.Damages) > 0 {
		return fmt.Errorf("%w: %w", errSilent, step.ErrMismatch)
	}
	return nil
}

func damageText(d disk.Damage) string {
	switch {
	case d.Address != "":
		return d.Address + ": " + view.OneLine(d.Text)
	case !d.Object.IsZero():
		return "object " + d.Object.Short() + ": " + view.OneLine(d.Text)
	}
	return view.OneLine(d.Text)
}
