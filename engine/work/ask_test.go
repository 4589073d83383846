package work

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

func newKey(t *testing.T) ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestAsk asks a worker twice the same and once something else. Whoever else writes to the
// remote cache is not obeyed.
func TestAsk(t *testing.T) {
	var obeyed []step.Asked
	l, at := &lab{version: "1", work: func(ctx context.Context, env *step.Env) error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case asked := <-env.Requests:
				obeyed = append(obeyed, asked)
				if asked.Act == step.Cancel {
					asked.Answer("it ends", nil)
					return step.ErrCancelled
				}
				asked.Answer("", errors.New("no"))
			}
		}
	}}, folder(t)
	b, key := newBench(t, l, at, "paint"), newKey(t)
	b.order.Steer = key.Public().(ed25519.PublicKey)
	task := b.place(false)
	extend := step.Asked{Request: step.Request{ID: "a", Act: step.Extend, ByMillis: 5000, Author: "me@here"}}
	if err := task.Ask(t.Context(), newKey(t), extend); !errors.Is(err, ErrNotOurs) {
		t.Fatalf("asked with another key: %v", err)
	}
	forge := func(key ed25519.PrivateKey, a asking, context string) []byte {
		text, _ := json.Marshal(a)
		doc, _ := json.Marshal(askDocument{text, ed25519.Sign(key, append([]byte(context), text...))})
		return doc
	}
	ours, stop := []string{b.placed.String()}, step.Request{ID: "x", Act: step.Stop}
	for i, doc := range [][]byte{
		forge(newKey(t), asking{Orders: ours, Request: stop}, askContext),
		forge(key, asking{Orders: []string{"other"}, Request: stop}, askContext),
		forge(key, asking{Orders: ours, Request: stop}, "another purpose\n"),
		[]byte("{"), []byte("null"), []byte(strings.Repeat(" ", maxAsk+1)), {},
	} {
		if err := b.tier.Desk().Put(t.Context(), askName(b.id(), i+1), doc); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range []step.Asked{extend, extend, {Request: step.Request{ID: "b", Act: step.Cancel}, Again: true}} {
		if err := task.Ask(t.Context(), key, asked); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	r := b.wait(task)
	if r.Steered != step.Cancel || r.Error == "" || r.Retryable {
		t.Errorf("%+v", r)
	}
	if len(obeyed) != 2 || obeyed[0].Request != extend.Request || obeyed[0].Again || !obeyed[1].Again {
		t.Errorf("obeyed %+v", obeyed)
	}
	var answers []string
	for _, e := range b.seen {
		if s, ok := e.(event.Steered); ok {
			answers = append(answers, s.Request.ID+": "+s.Effect+s.Refused+s.Request.Author)
		}
	}
	got := strings.Join(answers, ", ")
	if got != "a: no, b: it ends" && got != "a: no, a: no, b: it ends" { // the second may come before the answer
		t.Errorf("answered %q", got)
	}
}

// TestAskedWithoutKey: an order without a key, such as that of an earlier version, cannot be
// steered.
func TestAskedWithoutKey(t *testing.T) {
	l, at := &lab{version: "1", work: func(_ context.Context, env *step.Env) error {
		if env.Requests != nil {
			return errors.New("it listens")
		}
		return nil
	}}, folder(t)
	b := newBench(t, l, at, "paint")
	task := b.place(false)
	if err := task.Ask(t.Context(), newKey(t), step.Asked{}); !errors.Is(err, ErrNotOurs) {
		t.Error(err)
	}
	if err := l.worker(t, at, "n1").Run(t.Context(), b.id(), b.placed); err != nil {
		t.Fatal(err)
	}
	if r := b.wait(task); r.Record == nil {
		t.Errorf("%+v", r)
	}
}
