//go:build !linux

package agentrun

import (
	"context"
	"errors"
	"time"
)

// openWatch does nothing on this system.
type openWatch struct {
	began time.Time
	seen  map[int32]map[string]time.Duration
	lost  bool
}

func newOpenWatch() (*openWatch, error) { return nil, errors.ErrUnsupported }

func (*openWatch) add(string) (int32, error) { return 0, errors.ErrUnsupported }

func (*openWatch) run(context.Context) {}

func (*openWatch) interrupt() {}

func (*openWatch) finish() {}
