package disk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// TestPrune stores three states one after the other, each with a file of its own, and sees
// that only what nobody else uses goes when the next one is recorded.
func TestPrune(t *testing.T) {
	clock := &clock{}
	dir := t.TempDir()
	c, err := open(dir, Options{}, clock.hooks().withDefaults())
	must(t, err)
	defer c.Close()
	ctx := cache.WithDrafts(t.Context(), c)
	action := digest.NewHasher("state", "1").Sum()
	put := func(text string) cache.Ref {
		t.Helper()
		ref, err := cache.PutBytes(ctx, c, []byte(text))
		must(t, err)
		return ref
	}
	record := func(name string, ref cache.Ref) {
		t.Helper()
		id := action
		if name != "" {
			id = digest.NewHasher("state", name).Sum()
		}
		must(t, c.Record(ctx, &cache.Record{Action: id, Outputs: cache.Outputs{"out": {Ref: ref}}}))
	}
	before := putText(t, c, "was there before")
	one, shared, kept, sent := put("one"), put("stored by another, too"), put("recorded by another"), put("being sent")
	if same := put("was there before"); same != before {
		t.Fatal("another digest")
	}
	failed := put("of a state that was never recorded")
	record("", one)
	putText(t, c, "stored by another, too")
	record("kept", kept)
	clock.step()
	two := put("two")
	record("", two)
	clock.step()
	gone, err := c.Prune(ctx, sent)
	must(t, err)
	if want := map[digest.ContentID]bool{one.ID: true, failed.ID: true}; !cmp.Equal(gone, want) {
		t.Errorf("removed %v, want %v", gone, want)
	}
	for name, ref := range map[string]cache.Ref{"before": before, "shared": shared, "kept": kept, "sent": sent, "latest": two} {
		if _, err := c.Has(t.Context(), ref.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if gone, err := c.Prune(t.Context()); gone != nil || err != nil {
		t.Errorf("without an owner: %v, %v", gone, err)
	}
}

// TestPruneSparesWhatOthersFound sees that content stays that another process found, and
// what a record leads to that another part of this process looked up.
func TestPruneSparesWhatOthersFound(t *testing.T) {
	clock := &clock{}
	dir := t.TempDir()
	c, err := open(dir, Options{}, clock.hooks().withDefaults())
	must(t, err)
	defer c.Close()
	other, err := open(dir, Options{}, clock.hooks().withDefaults())
	must(t, err)
	defer other.Close()
	ctx := cache.WithDrafts(t.Context(), c)
	action := digest.NewHasher("state", "1").Sum()
	var trees [3]cache.Ref
	for i := range trees {
		ref, err := cache.PutBytes(ctx, c, []byte{byte(i)})
		must(t, err)
		var b tree.Builder
		must(t, b.Add("file", ref, false))
		trees[i], err = b.Build(ctx, c)
		must(t, err)
		must(t, c.Record(ctx, &cache.Record{Action: action, Outputs: cache.Outputs{"out": {Ref: trees[i]}}}))
		switch i {
		case 0:
			_, err = c.Lookup(t.Context(), action)
		case 1:
			_, err = other.Lookup(t.Context(), action)
		}
		must(t, err)
		clock.step()
	}
	if gone, err := c.Prune(ctx); len(gone) != 0 || err != nil {
		t.Errorf("removed %v, %v", gone, err)
	}
	must(t, other.Close())
	if gone, err := c.Prune(ctx); len(gone) != 2 || err != nil {
		t.Errorf("removed %v, %v when the other process had ended", gone, err)
	}
}
