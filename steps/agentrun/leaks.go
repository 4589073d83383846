package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// searchLeaks searches the files and names that the agent left, which are stored as
// they are, for the values of secrets, and says in which outputs there are some.
func (f *finished) searchLeaks(ctx context.Context, out cache.Outputs) error {
	var leaked []string
	for _, name := range []string{"code", "code_snapshots", "logs", "snapshots", "submission"} {
		err := searchTree(ctx, f.env.Store, out[name].Ref, f.secrets)
		if errors.Is(err, secret.ErrFound) {
			leaked = append(leaked, name)
		} else if err != nil {
			return fmt.Errorf("search %s for secrets: %w", name, err)
		}
	}
	if len(leaked) > 0 {
		f.env.SecretIn(leaked)
		f.env.Warn(fmt.Sprintf("the value of a secret is in the agent's %s, which stays as the agent left it; do not publish it, and replace the secret", strings.Join(leaked, " and ")))
	}
	return nil
}

// searchTree returns secret.ErrFound if a tree has a secret. Equal files are searched
// once.
func searchTree(ctx context.Context, store cache.Store, ref cache.Ref, secrets *secret.Set) error {
	if secrets.Empty() {
		return nil
	}
	seen := map[cache.Ref]bool{}
	return tree.Walk(ctx, store, ref, func(path string, e tree.Entry) error {
		if secrets.Mask(path) != path {
			return secret.ErrFound
		}
		if e.IsDir() || seen[e.Ref()] {
			return nil
		}
		seen[e.Ref()] = true
		return archive.Search(func() (io.ReadCloser, error) { return store.Open(ctx, e.ID) }, secrets)
	})
}
