package prepare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// descriptionFile is the file that the reference adds to the public files after
// preparation. No preparation creates it.
const descriptionFile = "description.md"

// adopt accepts data that the reference has prepared, instead of raw data: a
// tree with the one entry "prepared", which contains "public" and "private".
// They are used unchanged; the checksum step compares them with the pins.
func (p *preparation) adopt(ctx context.Context, env *step.Env) (cache.Outputs, bool, error) {
	halves, err := preparedHalves(ctx, env.Store, p.raw.Ref)
	if err != nil || halves == nil {
		return nil, false, err
	}
	if len(p.params) > 0 {
		return nil, true, fmt.Errorf("prepare %s: the data was prepared elsewhere, so params cannot be applied; use the raw data instead", p.def.ID)
	}
	if p.def.Version != "v1" {
		return nil, true, fmt.Errorf("prepare %s: the data was prepared elsewhere as version v1, not %s; use the raw data instead", p.def.ID, p.def.Version)
	}
	public := halves["public"]
	if !p.declares("public/" + descriptionFile) {
		if public, err = without(ctx, env.Store, public, descriptionFile); err != nil {
			return nil, true, fmt.Errorf("prepare %s: %w", p.def.ID, err)
		}
	}
	pins := len(p.def.Checksums.Pinned())
	files := public.Files + halves["private"].Files
	env.Warn(fmt.Sprintf("adopted as prepared elsewhere: %d of %d files have a pin; the others cannot be checked", pins, max(files, int64(pins))))
	return cache.Outputs{"public": {Ref: public}, "private": {Ref: halves["private"]}}, true, nil
}

// preparedHalves returns the two trees of prepared data, or nil for any other data.
func preparedHalves(ctx context.Context, store cache.Store, raw cache.Ref) (map[string]cache.Ref, error) {
	top, err := few(ctx, store, raw, 1)
	if err != nil || len(top) != 1 || top[0].Name != source.PreparedFolder || !top[0].IsDir() {
		return nil, err
	}
	entries, err := few(ctx, store, top[0].Ref(), 2)
	if err != nil || len(entries) != 2 {
		return nil, err
	}
	private, public := entries[0], entries[1]
	if private.Name != "private" || public.Name != "public" || !private.IsDir() || !public.IsDir() {
		return nil, nil
	}
	return map[string]cache.Ref{"private": private.Ref(), "public": public.Ref()}, nil
}

// few reads a directory with at most the given number of entries. From a larger one, it
// reads one entry more than that.
func few(ctx context.Context, store cache.Store, ref cache.Ref, most int) (list []tree.Entry, err error) {
	r, err := tree.Open(ctx, store, ref)
	if err != nil {
		return nil, fmt.Errorf("read raw data: %w", err)
	}
	defer r.Close()
	for len(list) <= most {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read raw data: %w", err)
		}
		list = append(list, e)
	}
	return list, nil
}

// without returns a tree without the entry of the given name.
func without(ctx context.Context, store cache.Store, ref cache.Ref, name string) (cache.Ref, error) {
	entries, err := tree.Read(ctx, store, ref)
	if err != nil {
		return ref, err
	}
	if !slices.ContainsFunc(entries, func(e tree.Entry) bool { return e.Name == name }) {
		return ref, nil
	}
	var b tree.Builder
	var errs []error
	for _, e := range entries {
		if e.Name != name {
			errs = append(errs, b.Add(e.Name, e.Ref(), e.Type == tree.Executable))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ref, err
	}
	return b.Build(ctx, store)
}

func (p *preparation) declares(path string) bool {
	outputs, diags := prep.Outputs(p.def)
	return !diags.HasErrors() && slices.ContainsFunc(outputs, func(o prep.Output) bool { return o.Path == path })
}
