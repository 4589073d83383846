package ui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/plugins/models/transcript"
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

// running returns the step's kept files, nil if it does not run.
func (o *one) running() *kept {
	if o.record != nil || !o.c.live {
		return nil
	}
	return o.m.kept[o.address]
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

// liveTurns is the number of listed exchanges of a running attempt.
const liveTurns = 200

// follow lists the last exchanges of an attempt that runs, as far as they are
// written.
func (o *one) follow(k *kept) error {
	var d transcriptData
	d.Missing = "The agent asked no model so far. Exchanges appear here as they end."
	if k.transcript == "" {
		d.Missing = o.why
	}
	err := o.withKept(k, func(r *transcript.Reader, all *outline) error {
		if d.Total = len(all.turns); d.Total == 0 {
			return nil
		}
		d.Missing = ""
		d.Facts = all.facts()
		var err error
		if d.Rows, err = o.turns(r, all, max(0, d.Total-liveTurns), d.Total); err != nil {
			return err
		}
		if n := o.turn(); n > 0 && n <= d.Total {
			bodies, err := o.bodies(r, all, n-1, n)
			if err != nil {
				return err
			}
			d.Detail = bodies[0]
		}
		return nil
	})
	if err != nil {
		d.Missing = "The transcript cannot be read yet: " + err.Error()
	}
	if err := o.c.add("transcript", "transcript live", d); err != nil {
		return err
	}
	return o.c.add("turn", "turn live", d)
}

// withKept opens the transcript that is being written, if there is one here.
func (o *one) withKept(k *kept, use func(*transcript.Reader, *outline) error) error {
	if !strings.HasPrefix(k.transcript, "agent-models-") {
		return nil
	}
	dir, err := o.u.Kept(k.transcript)
	if err != nil {
		return err
	}
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(dir, "transcript")))
	if none(err) {
		return nil // nothing was asked yet
	}
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := outlineOf(r)
	if err != nil {
		return err
	}
	return use(r, all)
}
