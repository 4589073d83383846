package remote

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/nolink"
)

// known is a folder next to the local cache. It has the records that were found in
// the remote, so that plan needs no network access for them. Everything in it can
// be requested again, so its errors are ignored.
type known struct {
	dir      string
	readOnly bool
}

func newKnown(local *disk.Cache, loc Location) *known {
	return &known{dir: filepath.Join(local.Dir(), "remote", loc.id()), readOnly: local.ReadOnly()}
}

func (k *known) path(id digest.ActionID) string {
	return filepath.Join(k.dir, filepath.FromSlash(actionKey(id)))
}

// lookup returns a record, or nil.
func (k *known) lookup(id digest.ActionID) *cache.Record {
	data, err := nolink.ReadFile(k.path(id))
	if err != nil {
		return nil
	}
	rec, err := decodeRecord(id, data)
	if err != nil {
		return nil
	}
	return rec
}

// add remembers a record as the bytes of its object.
func (k *known) add(id digest.ActionID, data []byte) {
	if k.readOnly {
		return
	}
	path := k.path(id)
	err := nolink.WriteFile(path, data, 0o644, false)
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(filepath.Dir(path), 0o777) == nil {
		_ = nolink.WriteFile(path, data, 0o644, false)
	}
}

// forget removes a record.
func (k *known) forget(id digest.ActionID) {
	if !k.readOnly {
		_ = os.Remove(k.path(id))
	}
}
