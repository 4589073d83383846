package prep

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestFirstFailure reports the copy that began first of those that fail,
// however long each takes.
func TestFirstFailure(t *testing.T) {
	for range 50 {
		c := newCopies(t.Context(), 4)
		for i := range 20 {
			c.begin(func() error {
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
				if i < 3 {
					return nil
				}
				return fmt.Errorf("copy %d", i)
			})
		}
		if err := c.wait(errors.New("a later one")); err == nil || err.Error() != "copy 3" {
			t.Fatalf("got %v, want copy 3", err)
		}
	}
	if err := newCopies(t.Context(), 1).wait(errors.New("x")); err == nil {
		t.Error("what stopped the rows is lost")
	}
}
