package ui

import (
	"context"
	"errors"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
)

// kept holds the files that a running attempt has kept so far.
type kept struct {
	// transcript is the key of a kept folder, code the copies of the code.
	transcript string
	code       []version
}

// add applies an event.
func (k *kept) add(e event.StepPhase) {
	if k == nil {
		return
	}
	k.transcript = e.Transcript
	if e.Code.Kind != cache.Tree || e.Code.IsZero() || len(k.code) > 0 && k.code[len(k.code)-1].ref == e.Code {
		return
	}
	at := e.Time.Sub(e.Started)
	k.code = append(k.code, version{view.Duration(at), e.Code, at})
}

// KeptIn is the folder that a cache keeps under a key.
func KeptIn(ctx context.Context, c cache.Keeper, key string) (string, error) {
	list, err := c.Kept(ctx)
	if err != nil {
		return "", err
	}
	for _, k := range list {
		if k.Key == key {
			return k.Dir, nil
		}
	}
	return "", errors.New("it is not on this machine, or the attempt has just ended")
}
