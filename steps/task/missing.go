package task

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// missing is the error that no place has a text.
type missing struct {
	pin competitions.Pin
	// failed are the places that could not be reached.
	failed []error
}

// Error implements error.
func (m *missing) Error() string { return "no place has " + m.pin.Name() }

// Unwrap returns the errors of the places that could not be reached.
func (m *missing) Unwrap() []error { return m.failed }

// lacking collects the texts that no place has.
type lacking []*missing

// add reports whether an error means that no place has a text, and collects it.
func (l *lacking) add(err error) bool {
	var m *missing
	if !errors.As(err, &m) {
		return false
	}
	*l = append(*l, m)
	return true
}

// error returns nil if nothing is missing. Otherwise the error lists the ways to get
// the missing texts.
func (l lacking) error(t *texts) error {
	if len(l) == 0 {
		return nil
	}
	var names, paths []string
	for _, m := range l {
		names = append(names, m.pin.Name())
		if m.pin.Path != "" {
			paths = append(paths, m.pin.Path)
		}
	}
	layout := strings.Join(paths, ", ")
	layout = cmp.Or(layout, "it")
	return fmt.Errorf("no place has %s for the task %q of %s%s. There are three ways to get the texts: --adopt DIR, a data directory or a checkout of MLE-bench; --mirror URL, a folder or server with %s; or the network, from %s. The task \"own\" needs none of them, but its scores cannot be compared with published ones",
		strings.Join(names, " and "), t.task, t.def.ID, l.why(), layout, source.Redact(t.deps.Repository.Address(l[0].pin)))
}

// retryable marks an error as temporary if a place could not be reached.
func (l lacking) retryable(err error) error {
	for _, m := range l {
		if temporary, ok := errors.AsType[*source.TemporaryError](m); ok {
			return step.Retryable(err, temporary.After)
		}
	}
	return err
}

// why returns the cause of the failure in parentheses. It is the same for all texts.
func (l lacking) why() string {
	for _, m := range l {
		switch {
		case len(m.failed) == 0:
		case errors.Is(m.failed[0], source.ErrOffline):
			return " (" + source.ErrOffline.Error() + ")"
		default:
			return fmt.Sprintf(" (%v)", m.failed[0])
		}
	}
	return ""
}
