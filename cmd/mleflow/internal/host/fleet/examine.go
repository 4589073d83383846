package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// ExamineCache tries what controller and workers do with the remote cache: create a
// document once, read it, list it and remove it.
func ExamineCache(ctx context.Context, tier *remote.Tier) cluster.Check {
	const folder = "work/.try"
	c := cluster.Check{Name: "remote cache", OK: true, Detail: tier.Location().String()}
	fail := func(what string, err error) cluster.Check {
		c.OK, c.Detail = false, fmt.Sprintf("%s: %s: %v", c.Detail, what, err)
		c.Fix = "see docs/remote.md for addresses, credentials and permissions; workers need the same"
		return c
	}
	desk, name, text := tier.Desk(), folder+"/"+rand.Text(), []byte(rand.Text())
	start := time.Now()
	if err := desk.Create(ctx, name, text); err != nil {
		return fail("it cannot be written", err)
	}
	again := desk.Create(ctx, name, []byte(rand.Text()))
	got, err := desk.Get(ctx, name)
	names, listErr := desk.List(ctx, folder)
	removed := desk.Remove(ctx, name)
	switch {
	case err != nil || string(got) != string(text):
		return fail("what was written cannot be read", errors.Join(err, cache.ErrCorrupt))
	case listErr != nil || len(names) == 0:
		return fail("what was written is not listed", listErr)
	case removed != nil:
		return fail("what was written cannot be removed", removed)
	case !errors.Is(again, remote.ErrExists):
		return fail("it does not refuse to create what exists, so two workers could run one action", again)
	}
	c.Detail += fmt.Sprintf("; a document was written, read, listed and removed in %v", time.Since(start).Round(time.Millisecond))
	return c
}
