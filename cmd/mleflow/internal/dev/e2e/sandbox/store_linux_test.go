package sandbox

import (
	"encoding/json"
	"path/filepath"
	"testing"

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
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list.Records) == 0 {
		t.Fatalf("cache ls %s: exit %d, %v\n%s%s", address, code, err, stdout, stderr)
	}
	action, err := digest.ParseActionID(list.Records[0].Action)
	must(t, err)
	store, err := disk.Open(h.cache, disk.Options{})
	must(t, err)
	defer store.Close()
	record, err := store.Lookup(t.Context(), action)
	must(t, err)
	dst := filepath.Join(t.TempDir(), output)
	_, err = tree.Materialise(t.Context(), store, record.Outputs[output].Ref, dst, tree.Options{Mode: tree.Copy, Writable: true})
	must(t, err)
	return dst
}
