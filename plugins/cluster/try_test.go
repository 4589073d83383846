package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// stage is a backend whose one job passes through some statuses.
type stage struct {
	Backend
	statuses []Status
	refuses  error
	mu       sync.Mutex
	name     string
	calls    []string
	// cancelled is closed by the first Cancel.
	cancelled chan struct{}
	once      sync.Once
}

func (s *stage) did(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	return nil
}

func (s *stage) Start(_ context.Context, j Job) error {
	s.name = j.Name
	return errors.Join(s.did("start"), s.refuses)
}
func (s *stage) Cancel(context.Context, ...string) error {
	s.once.Do(func() { close(s.cancelled) })
	return s.did("cancel")
}
func (s *stage) Remove(context.Context, ...string) error { return s.did("remove") }
func (s *stage) Watch(ctx context.Context, fn func(Status), _ func()) error {
	fn(Status{Job: "another", State: Failed})
	for _, st := range s.statuses {
		st.Job = s.name
		fn(st)
	}
	select {
	case <-s.cancelled:
		fn(Status{Job: s.name, State: Gone})
	case <-ctx.Done():
	}
	return nil
}

// TestTry: whatever becomes of the job, nothing of it is left.
func TestTry(t *testing.T) {
	for name, c := range map[string]struct {
		stage    *stage
		ok, soft bool
		detail   string
		cancels  bool
	}{
		"done":    {&stage{statuses: []Status{{State: Pending}, {State: Succeeded, Node: "n7"}}}, true, false, "ran on node n7", false},
		"failed":  {&stage{statuses: []Status{{State: Failed, Reason: "StartError", Message: "no program"}}}, false, false, "StartError: no program", false},
		"never":   {&stage{statuses: []Status{{State: Pending, Final: true, Reason: "Unschedulable", Message: "no such node"}}}, false, false, "Unschedulable: no such node", true},
		"busy":    {&stage{statuses: []Status{{State: Pending, Reason: "Resources"}}}, false, true, "it is pending. Resources", true},
		"image":   {&stage{statuses: []Status{{State: Pending, Node: "n7", Reason: "ImagePullBackOff", Message: "no such image"}}}, false, false, "ImagePullBackOff: no such image", true},
		"pulls":   {&stage{statuses: []Status{{State: Pending, Node: "n7", Reason: "ContainerCreating"}}}, false, true, "is pending. ContainerCreating", true},
		"slow":    {&stage{statuses: []Status{{State: Running}}}, false, true, "it is running", true},
		"refused": {&stage{refuses: errors.New("no such account")}, false, false, "no such account", false},
		"removed": {&stage{statuses: []Status{{State: Gone}}}, false, false, "removed from outside", false},
	} {
		c.stage.cancelled = make(chan struct{})
		got := Try(t.Context(), c.stage, Job{}, 400*time.Millisecond)
		calls := c.stage.calls
		if got.OK != c.ok || got.Optional != c.soft || !strings.Contains(got.Detail, c.detail) || !got.OK && got.Fix == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if c.stage.refuses == nil && (calls[len(calls)-1] != "remove" || c.cancels && !slices.Contains(calls, "cancel")) {
			t.Errorf("%s: %v", name, calls)
		}
	}
}
