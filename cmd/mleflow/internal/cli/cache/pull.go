package cache

import (
	"context"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// remoteRecords returns the chosen records of the remote cache.
func remoteRecords(ctx context.Context, t *remote.Tier, f transferFlags, args []string) ([]*cache.Record, error) {
	ids := map[digest.ActionID]bool{}
	var addresses, prefixes []string
	for _, arg := range args {
		found, err := pinned(ctx, t.Cache, arg)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			ids[id] = true
		}
		switch {
		case found != nil:
		case strings.HasPrefix(arg, "step."):
			addresses = append(addresses, arg)
		case len(arg) >= 6 && strings.Trim(arg, "0123456789abcdef") == "":
			prefixes = append(prefixes, arg)
		default:
			return nil, app.Usagef("cache pull: %s is not a step address, a pin of this cache or an action; for the results of another machine's run, use --run", arg)
		}
	}
	every := f.all || f.run != "" || len(addresses) > 0
	recs, err := t.Records(ctx, func(id digest.ActionID) bool {
		return every || ids[id] || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(id.String(), p) })
	})
	if err != nil {
		return nil, err
	}
	newest := newestOf(recs, addresses)
	recs = slices.DeleteFunc(recs, func(r *cache.Record) bool {
		chosen := f.all || f.run != "" && r.Run == f.run || ids[r.Action] || newest[r.Address] == r ||
			slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.Action.String(), p) })
		return !chosen
	})
	if len(recs) == 0 && !f.all {
		return nil, app.Usagef("cache pull: the remote cache %s has no such result", t.Location())
	}
	return recs, nil
}

// newestOf returns the latest record of each address.
func newestOf(recs []*cache.Record, addresses []string) map[string]*cache.Record {
	newest := map[string]*cache.Record{}
	for _, r := range recs {
		if !slices.Contains(addresses, r.Address) {
			continue
		}
		if n := newest[r.Address]; n == nil || r.StartedUnixMilli > n.StartedUnixMilli {
			newest[r.Address] = r
		}
	}
	return newest
}
