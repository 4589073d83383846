package work

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

const (
	// askPrefix is the prefix of a request's document; its number from 1 follows.
	askPrefix = "ask-"
	// askEvery is the interval at which a worker looks for the next request.
	askEvery = time.Second
	// maxAsk is the largest size of a request's document, in bytes.
	maxAsk = 64 << 10
	// askContext precedes a request's text in what is signed.
	askContext = "mleflow request to a worker 1\n"
)

// ErrNotOurs means that no order of the action can be steered with the key.
var ErrNotOurs = errors.New("it was ordered with another cache, which alone can steer it")

// askDocument is a request with its signature by the key of the orders that it names, so
// that no other writer of the remote cache steers a worker.
type askDocument struct {
	// Text is an encoded asking.
	Text      []byte `json:"text"`
	Signature []byte `json:"signature"`
}

// asking is a request to the workers of orders.
type asking struct {
	Orders  []string     `json:"orders"`
	Request step.Request `json:"request"`
	Again   bool         `json:"again,omitempty"`
}

func askName(id digest.ActionID, number int) string {
	return remote.WorkName(id, fmt.Sprintf("%s%06d", askPrefix, number))
}

// Ask passes a request on to the workers of the action's orders that were placed with the
// same key. It returns ErrNotOurs if there are none.
func (t *Task) Ask(ctx context.Context, key ed25519.PrivateKey, asked step.Asked) error {
	orders, err := t.steerable(ctx, key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(asking{orders, asked.Request, asked.Again})
	if err != nil {
		return err
	}
	doc, err := json.Marshal(askDocument{text, ed25519.Sign(key, append([]byte(askContext), text...))})
	if err != nil {
		return err
	}
	numbers, err := documents(ctx, t.desk, t.action, askPrefix)
	if err != nil {
		return err
	}
	last := 0
	for _, name := range numbers {
		n, _ := strconv.Atoi(name)
		last = max(last, n)
	}
	for err = remote.ErrExists; errors.Is(err, remote.ErrExists); {
		last++
		err = t.desk.Create(ctx, askName(t.action, last), doc)
	}
	return err
}

// steerable lists the action's orders that were placed with a key.
func (t *Task) steerable(ctx context.Context, key ed25519.PrivateKey) (orders []string, err error) {
	all, err := documents(ctx, t.desk, t.action, orderPrefix)
	for _, order := range all {
		o, _, err := readDocument[Order](ctx, t.desk, t.action, remote.WorkName(t.action, orderPrefix+order), "order")
		if err == nil && o != nil && key.Public().(ed25519.PublicKey).Equal(ed25519.PublicKey(o.Steer)) {
			orders = append(orders, order)
		}
	}
	if err == nil && len(orders) == 0 {
		err = ErrNotOurs
	}
	return orders, err
}

// listen delivers what is asked of the worker's order until ctx ends, each request once.
func (s *shift) listen(ctx context.Context) <-chan step.Asked {
	if len(s.o.Steer) != ed25519.PublicKeySize {
		return nil
	}
	to := make(chan step.Asked)
	go func() {
		var mu sync.Mutex
		answers := map[string]*event.Steered{} // nil until it is answered
		for next := 1; ; {
			data, err := s.desk.Get(ctx, askName(s.o.Action, next))
			if err != nil {
				if progress.Sleep(ctx, askEvery) != nil {
					return
				}
				continue
			}
			next++
			a, ok := s.verified(data)
			if !ok {
				s.w.Say(fmt.Sprintf("request %d in the remote cache is not one to this worker, and is ignored", next-1))
				continue
			}
			id := a.Request.ID
			mu.Lock()
			given, known := answers[id]
			if answers[id] = given; given != nil {
				s.out.Emit(*given) // another controller asks
			}
			mu.Unlock()
			if known {
				continue
			}
			asked := step.Asked{Request: a.Request, Again: a.Again || s.claim.generation > 1, Answer: func(effect string, err error) {
				e := event.Steered{At: event.Now(), Request: step.Request{ID: id}, Effect: effect}
				if err != nil {
					e.Effect, e.Refused = "", err.Error()
				}
				mu.Lock()
				defer mu.Unlock()
				answers[id] = &e
				s.out.Emit(e)
			}}
			select {
			case to <- asked:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

// verified decodes a request to the worker's order.
func (s *shift) verified(data []byte) (a asking, ok bool) {
	var doc askDocument
	if len(data) > maxAsk || json.Unmarshal(data, &doc) != nil || !ed25519.Verify(s.o.Steer, append([]byte(askContext), doc.Text...), doc.Signature) {
		return a, false
	}
	return a, json.Unmarshal(doc.Text, &a) == nil && slices.Contains(a.Orders, s.order.String())
}
