package disk

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// shard knows which objects of one folder are present. It answers only for
// records in the index, which are dropped before their objects. To find out
// about any other object, ask the file system.
type shard struct {
	asked atomic.Int32
	// list holds the second to ninth byte of every name, sorted, once listing the
	// folder pays off.
	list atomic.Pointer[[]uint64]

	mu    sync.Mutex
	added []uint64 // published by this process since the folder was listed
}

func shardKey(id digest.ContentID) uint64 { return binary.BigEndian.Uint64(id[1:]) }

// objects are the files with content and their executable twins.
type objects struct {
	*folder
	leases *leases
	quota  *quota
	shards [256]shard
	drafts drafts
	// deleting is locked shared to find an object present and protect it, and
	// exclusively to remove objects.
	deleting sharedLock
}

// present reports whether an object that a record names is there.
func (c *objects) present(id digest.ContentID) bool {
	s := &c.shards[id[0]]
	if s.has(id) {
		return true
	}
	if _, err := c.stat(id, false); err != nil {
		return false
	}
	// Listing the folder costs as much as asking for a fifth of the names one by
	// one, so asking for fewer wastes little.
	if n := s.asked.Add(1); n >= 8 && int64(n) >= c.state.objects.Load()/(256*16) && s.list.Load() == nil {
		s.load(c.path(shardName(id[0])))
	}
	return true
}

func (s *shard) has(id digest.ContentID) bool {
	list := s.list.Load()
	if list == nil {
		return false
	}
	key := shardKey(id)
	if _, ok := slices.BinarySearch(*list, key); ok {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.added, key)
}

// load lists the folder.
func (s *shard) load(path string) {
	dir, err := nolink.OpenDir(path)
	if err != nil {
		return
	}
	defer dir.Close()
	list := make([]uint64, 0, 1<<10)
	err = eachName(dir, func(name []byte, _ uint64) {
		var id digest.ContentID
		if len(name) != 2*digest.Size {
			return
		}
		if _, err := hex.Decode(id[:9], name[:18]); err == nil {
			list = append(list, shardKey(id))
		}
	})
	if err != nil {
		return
	}
	slices.Sort(list)
	s.list.Store(&list)
}

// add notes an object that this process published.
func (s *shard) add(id digest.ContentID) {
	if s.list.Load() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.added) < 64 {
		s.added = append(s.added, shardKey(id))
	}
}

// forget makes the shard ask the file system again.
func (s *shard) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Store(nil)
	s.asked.Store(0)
	s.added = nil
}

func (c *objects) forgetShards() {
	for i := range c.shards {
		c.shards[i].forget()
	}
}
