package disk

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// file is one file in the objects folder.
type file struct {
	id digest.ContentID
	// twin marks the executable twin.
	twin bool
	// stray is the name of a file that is not an object.
	stray string
}

// eachShard calls fn with the sorted names of every folder of objects.
func (c *objects) eachShard(fn func(b byte, names []string) error) error {
	there, err := names(c.path(objectsName))
	if err != nil {
		return err
	}
	slices.Sort(there)
	for _, name := range there {
		digits, err := hex.DecodeString(name)
		if err != nil || len(digits) != 1 || hex.EncodeToString(digits) != name {
			continue
		}
		b := digits[0]
		list, err := names(c.path(shardName(b)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		slices.Sort(list)
		if err := fn(b, list); err != nil {
			return err
		}
	}
	return nil
}

// eachFile calls fn for every file in the folders of objects.
func (c *objects) eachFile(fn func(file) error) error {
	return c.eachShard(func(b byte, names []string) error {
		for _, name := range names {
			if err := fn(parseObjectName(b, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func parseObjectName(b byte, name string) file {
	digits, twin := strings.CutSuffix(name, "x")
	var id digest.ContentID
	if len(digits) == 2*digest.Size {
		if _, err := hex.Decode(id[:], []byte(digits)); err == nil && id[0] == b && id.String() == digits {
			return file{id: id, twin: twin}
		}
	}
	return file{stray: name}
}

// tally is the number and size of objects.
type tally struct{ objects, bytes int64 }

// count adds up all objects, and everything else on disk that the quota counts.
func (c *objects) count(see func(file, facts)) (t tally, err error) {
	err = c.eachFile(func(f file) error {
		if f.stray != "" {
			return nil
		}
		facts, err := c.stat(f.id, f.twin)
		if err != nil {
			return ignoreMissing(err)
		}
		if !f.twin {
			t.objects++
		}
		t.bytes += facts.size
		see(f, facts)
		return nil
	})
	return t, err
}

// keyedBytes returns the size of unfinished keyed ingests.
func (c *ingests) keyedBytes() (int64, error) {
	list, err := os.ReadDir(c.path(ingestName))
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, d := range list {
		if strings.Contains(d.Name(), ".") {
			continue // a saved state
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum, nil
}
