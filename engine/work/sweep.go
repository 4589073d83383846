package work

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/remote"
)

// Known lists the actions with documents on the desk.
func Known(ctx context.Context, desk remote.Desk) ([]digest.ActionID, error) {
	seen := map[digest.ActionID]bool{}
	var list []digest.ActionID
	names, err := desk.List(ctx, "work")
	if err != nil {
		return nil, fmt.Errorf("list work: %w", err)
	}
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			continue
		}
		if id, err := digest.ParseActionID(parts[2]); err == nil && !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list, nil
}

// Over reports whether an action's documents are no longer needed: it has a
// result, or its last worker gave up.
func Over(ctx context.Context, c *remote.Tier, id digest.ActionID) (bool, error) {
	desk := c.Desk()
	if r, err := readResult(ctx, desk, id); r != nil || err != nil {
		return r != nil, err
	}
	_, doc, _, err := lastClaim(ctx, desk, id)
	if err != nil || doc != nil {
		return doc != nil && doc.Ended, err
	}
	_, err = c.FindAfar(ctx, id)
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrCorrupt) {
		return false, nil
	}
	return err == nil, err
}

// Stray says why nobody will go on with what a lost worker of an action left on a node:
// the action has its result, or another node has it. It returns "" if a worker on the
// node may go on, or if the action is none of this remote cache.
func Stray(ctx context.Context, c *remote.Tier, id digest.ActionID, node string) (why string, err error) {
	desk := c.Desk()
	_, doc, _, err := lastClaim(ctx, desk, id)
	if err != nil {
		return "", err
	}
	if doc != nil && !doc.Ended && doc.Node != node {
		return fmt.Sprintf("node %s has its step now", doc.Node), nil
	}
	r, err := readResult(ctx, desk, id)
	if err != nil {
		return "", err
	}
	open, err := unanswered(ctx, desk, id, r)
	if err != nil || len(open) > 0 {
		return "", err
	}
	if r == nil {
		if _, err := c.FindAfar(ctx, id); err != nil {
			return "", nil //nolint:nilerr // it has no result
		}
	}
	return "its step has a result", nil
}
