package executor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// An error says once that the command cannot be started, whether it comes as an
// error or as the text of one from another process.
func TestUnstartable(t *testing.T) {
	const want = "cannot start command: no such program"
	plain := errors.New("no such program")
	for _, err := range []error{plain, executor.Unstartable(plain), errors.New(want), fmt.Errorf("%w: no such program", executor.ErrStart)} {
		if got := executor.Unstartable(err); got.Error() != want || !errors.Is(got, executor.ErrStart) {
			t.Errorf("%q becomes %q, want %q", err, got, want)
		}
	}
}
