package work

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/step"
)

// formatOrder is the first field of every order.
const formatOrder = "mleflow order 2"

// orderPrefix is the prefix of an order's document; its digest follows.
const orderPrefix = "order-"

// Order is a self-describing action. Whoever starts a worker gives it the digest of the
// order, so that no other writer of the remote cache chooses what it runs.
type Order struct {
	Format string          `json:"format"`
	Action digest.ActionID `json:"action"`
	// Request is random, so that each order has another digest.
	Request string `json:"request"`
	Kind    string `json:"kind"`
	// KindVersion is the version of the kind. Version is that of the ordering
	// program.
	KindVersion string          `json:"kind_version"`
	Version     string          `json:"version"`
	Args        json.RawMessage `json:"args"`
	// Fields are the fields of the key. They serve to report a difference.
	Fields []digest.Field `json:"fields"`
	// Address, Run and Try become part of the step's environment.
	Address string `json:"address"`
	Run     string `json:"run"`
	Try     int    `json:"attempt"`
	// Fresh means that an earlier result must not be used.
	Fresh bool `json:"fresh,omitempty"`
	// Tries counts the earlier tries of the action, as recorded with a final
	// result.
	Tries cache.Tries `json:"tries,omitzero"`
	// Folders are folders that the step's kind needs besides its arguments,
	// such as competitions that do not ship with the program.
	Folders []Folder `json:"folders,omitempty"`
	// Steer is the public key of the requests that the worker obeys; without it, it obeys
	// none.
	Steer ed25519.PublicKey `json:"steer,omitempty"`
}

// Folder is a folder of the ordering machine.
type Folder struct {
	Name    string    `json:"name"`
	Content cache.Ref `json:"content"`
}

// NewOrder returns an order for an action.
func NewOrder(kind *step.Kind, args step.Args, action digest.ActionID, fields []digest.Field) (*Order, error) {
	data, err := kind.EncodeArgs(args)
	if err != nil {
		return nil, err
	}
	return &Order{
		Format: formatOrder, Action: action, Request: rand.Text(), Kind: kind.Name, KindVersion: kind.Version, Args: data, Fields: fields, Try: 1,
	}, nil
}

// refusal explains why no worker of this version can run an order.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

// IsRefusal reports whether the error means that no worker like this one can
// run the action.
func IsRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

func refusef(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }

func orderName(id digest.ActionID, order digest.ContentID) string {
	return remote.WorkName(id, orderPrefix+order.String())
}

// readOrder returns the order with a digest. Other bytes under its name are refused.
func readOrder(ctx context.Context, desk remote.Desk, id digest.ActionID, order digest.ContentID) (*Order, error) {
	data, err := desk.Get(ctx, orderName(id, order))
	if err != nil {
		return nil, fmt.Errorf("read order of action %s: %w", id.Short(), err)
	}
	if found := digest.Of(data); found != order {
		return nil, refusef("the order of action %s in the remote cache has the digest %s, and this worker was started for %s: somebody else changed it; let only those write to the remote cache whose results you trust", id.Short(), found.Short(), order.Short())
	}
	o := new(Order)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, refusef("the order of action %s cannot be read: %v", id.Short(), err)
	}
	if o.Format != formatOrder {
		return nil, refusef("the order of action %s has the format %q, and this mleflow reads %q; use the same version on both sides", id.Short(), o.Format, formatOrder)
	}
	if o.Action != id {
		return nil, refusef("the order of action %s is that of %s", id.Short(), o.Action.Short())
	}
	return o, nil
}

// unanswered lists the orders of an action besides that of the last result, if any.
func unanswered(ctx context.Context, desk remote.Desk, id digest.ActionID, last *Result) ([]string, error) {
	orders, err := documents(ctx, desk, id, orderPrefix)
	return slices.DeleteFunc(orders, func(o string) bool { return last != nil && o == last.Order.String() }), err
}

// Step decodes the arguments and constructs the step with the kinds of this
// program. If the computed key is not the action, it returns a refusal that
// names the first field that differs.
func (o *Order) Step(kinds *step.Registry) (*step.Kind, step.Args, []digest.Field, error) {
	fail := func(format string, args ...any) (*step.Kind, step.Args, []digest.Field, error) {
		return nil, step.Args{}, nil, refusef(format, args...)
	}
	kind := kinds.Kind(o.Kind)
	if kind == nil {
		return fail("this mleflow has no step kind %q, which mleflow %s ordered; use the same version on both sides", o.Kind, o.Version)
	}
	if kind.Version != o.KindVersion {
		return fail("step kind %s has version %q here and %q in the order of mleflow %s; use the same version on both sides", o.Kind, kind.Version, o.KindVersion, o.Version)
	}
	args, err := kind.DecodeArgs(o.Args)
	if err != nil {
		return fail("%s: %v", o.Address, err)
	}
	s, err := kind.New(args)
	if err != nil {
		return fail("%s cannot be run here: %v", o.Address, err)
	}
	h, err := step.Key(kind, args, s)
	if err != nil {
		return fail("%s: the key cannot be computed here: %v", o.Address, err)
	}
	if h.Sum() != o.Action {
		return fail("%s is another action here than in the order of mleflow %s: %s", o.Address, o.Version, differs(o.Fields, h.Fields()))
	}
	return kind, args, h.Fields(), nil
}

// differs describes the first difference between two keys.
func differs(ordered, here []digest.Field) string {
	was := make(map[string]string, len(ordered))
	for _, f := range ordered {
		was[f.Label] = f.Value
	}
	for _, f := range here {
		v, ok := was[f.Label]
		delete(was, f.Label)
		switch {
		case !ok:
			return fmt.Sprintf("it has the field %s = %s here", f.Label, f.Value)
		case v != f.Value:
			return fmt.Sprintf("%s is %s here and %s in the order", f.Label, f.Value, v)
		}
	}
	for _, f := range ordered {
		if v, left := was[f.Label]; left {
			return fmt.Sprintf("it has no field %s here, which is %s in the order", f.Label, v)
		}
	}
	return "the fields are in another order"
}

// Result is a worker's answer to an order.
type Result struct {
	// Order is the digest of the order.
	Order digest.ContentID `json:"order"`
	// Node is the worker's machine.
	Node string `json:"node,omitempty"`
	// Record is the result of the step, or nil if there is none. Found means
	// that it already existed.
	Record *cache.Record `json:"record,omitempty"`
	Found  bool          `json:"found,omitempty"`
	// Error is the step's error. Mismatch and Retryable are its marks.
	// AfterMillis is the minimum wait before another try.
	Error       string `json:"error,omitempty"`
	Mismatch    bool   `json:"mismatch,omitempty"`
	Retryable   bool   `json:"retryable,omitempty"`
	AfterMillis int64  `json:"after_ms,omitempty"`
	// Steered is the act, Cancel or Requeue, by which a person ended the step.
	Steered step.Act `json:"steered,omitempty"`
	// Refused explains why no worker like this one can run the action.
	Refused string `json:"refused,omitempty"`
	// FetchedBytes and StoredBytes are the amounts that the worker transferred
	// from and to the remote cache.
	FetchedBytes int64 `json:"fetched_bytes,omitempty"`
	StoredBytes  int64 `json:"stored_bytes,omitempty"`
}

const resultDocument = "result"

// readResult returns the latest result of an action, or nil if there is none.
func readResult(ctx context.Context, desk remote.Desk, id digest.ActionID) (*Result, error) {
	r, _, err := readDocument[Result](ctx, desk, id, remote.WorkName(id, resultDocument), "result")
	if r != nil && r.Record != nil && !r.Record.IsOf(id) {
		return nil, fmt.Errorf("read result of action %s: it is that of another action", id.Short())
	}
	return r, err
}

func writeResult(ctx context.Context, desk remote.Desk, id digest.ActionID, r *Result) error {
	if err := writeDocument(ctx, desk, remote.WorkName(id, resultDocument), r); err != nil {
		return fmt.Errorf("write result of action %s: %w", id.Short(), err)
	}
	return nil
}
