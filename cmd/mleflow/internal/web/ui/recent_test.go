package ui

import (
	"errors"
	"testing"
)

// TestRecent remembers the values that were asked for last, and no failure.
func TestRecent(t *testing.T) {
	made := map[string]int{}
	r := recent[string, string]{most: 2}
	get := func(key string) {
		t.Helper()
		value, err := r.get(key, func() (string, error) { made[key]++; return "value of " + key, nil })
		if value != "value of "+key || err != nil {
			t.Errorf("got %q, %v for %s", value, err, key)
		}
	}
	for _, key := range []string{"a", "b", "a", "c", "a", "b"} { // c drops b, not a
		get(key)
	}
	if made["a"] != 1 || made["b"] != 2 || made["c"] != 1 {
		t.Errorf("values were made %v times", made)
	}
	failed := errors.New("gone")
	if _, err := r.get("d", func() (string, error) { return "", failed }); !errors.Is(err, failed) {
		t.Errorf("a failure gives %v", err)
	}
	get("d")
}
