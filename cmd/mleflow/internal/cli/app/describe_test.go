package app

import (
	"context"
	"errors"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/steps/task"
)

// TestDescribeMeanwhile asks for a description before data are prepared, notes
// that there is none, and does not where there are no data either.
func TestDescribeMeanwhile(t *testing.T) {
	asked := make(chan struct{}, 2)
	d := &Describer{open: func() (*task.Describer, error) {
		asked <- struct{}{}
		return nil, errors.New("no network")
	}}
	failure := errors.New("no data")
	for _, want := range []error{nil, failure} {
		err := d.While(context.Background(), &competitions.Definition{ID: "x"}, func(text func() ([]byte, error)) error {
			<-asked
			if want == nil {
				_, err := text()
				return err
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if len(d.without) != 1 {
		t.Errorf("%v lack a description, want one", d.without)
	}
}
