package remote

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// TestQueueKeepsOrder records an action again while its first record is being stored: no
// record replaces a later one, and those that were replaced before their turn are left
// out.
func TestQueueKeepsOrder(t *testing.T) {
	var mu sync.Mutex
	var stored []int
	began, goOn := make(chan bool, 9), make(chan bool)
	q := newQueue(func(_ context.Context, rec *cache.Record) error {
		began <- true
		<-goOn
		mu.Lock()
		defer mu.Unlock()
		stored = append(stored, rec.Earlier)
		return nil
	})
	defer q.close()
	add := func(name string, n int) {
		q.add(&cache.Record{Action: digest.NewHasher(name, "1").Sum(), Tries: cache.Tries{Earlier: n}})
	}
	add("a", 1)
	<-began
	add("a", 2)
	add("a", 3)
	add("b", 9)
	<-began // b, while a is being stored
	close(goOn)
	if left := q.wait(t.Context()); left != 0 {
		t.Errorf("%d are left", left)
	}
	if at := slices.Index(stored, 3); len(stored) != 3 || at <= slices.Index(stored, 1) {
		t.Errorf("stored in the order %v", stored)
	}
}
