package sandbox

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
)

// materialise writes an output of a step to a folder.
func (h *host) materialise(t *testing.T, address, output string) string {
	t.Helper()
	stdout, stderr, code := h.run("cache", "ls", address, "--json")
	var list struct {
		Records []struct {
			Action string `json:"action"`
		} `json:"records"`
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 {
		t.Fatalf("cache ls %s: exit %d, %v\n%s%s", address, code, err, stdout, stderr)
	}
	store, err := disk.Open(h.cache, disk.Options{})
	must(t, err)
	defer store.Close()
	var ref cache.Ref
	for _, r := range list.Records { // of the attempt, and of its checkpoints
		action, err := digest.ParseActionID(r.Action)
		must(t, err)
		record, err := store.Lookup(t.Context(), action)
		must(t, err)
		if v := record.Outputs[output]; ref.IsZero() {
			ref = v.Ref
		}
	}
	dst := filepath.Join(t.TempDir(), output)
	_, err = tree.Materialise(t.Context(), store, ref, dst, tree.Options{Mode: tree.Copy, Writable: true})
	must(t, err)
	return dst
}
