package containerd

import (
	"context"
	"fmt"
)

// freeze stops all processes of the task.
func (r *run) freeze(ctx context.Context) (thaw func(), err error) {
	if err := r.task.Pause(ctx); err != nil {
		return nil, fmt.Errorf("freeze command: %w", err)
	}
	return func() { _ = r.task.Resume(context.WithoutCancel(ctx)) }, nil
}
