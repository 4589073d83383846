package local

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Digests remembers the digests of large files in a file of lines "STAMP DIGEST". It is
// trusted like the cache in whose folder it is.
type Digests struct {
	path  string
	once  sync.Once
	mu    sync.Mutex
	known map[string]string
}

// Smaller files are read in less time than it takes to remember them. A list that is
// larger starts again.
const (
	largeFile = 1 << 20
	largeList = 64 << 20
)

// NewDigests returns the Digests that are remembered in the file at path; "" remembers
// nothing.
func NewDigests(path string) *Digests { return &Digests{path: path} }

// Of returns the content of an open file. It calls read only if the file is not known or
// has changed.
func (d *Digests) Of(f *os.File, read func() (cache.Ref, error)) (cache.Ref, error) {
	stamp, size := stampOf(f)
	if d.path == "" || size < largeFile || stamp == "" {
		return read()
	}
	d.once.Do(d.load)
	d.mu.Lock()
	known := d.known[stamp]
	d.mu.Unlock()
	if id, err := digest.ParseContentID(known); err == nil {
		return cache.Ref{Kind: cache.Blob, ID: id, Size: size}, nil
	}
	ref, err := read()
	if after, _ := stampOf(f); err == nil && after == stamp {
		d.learn(stamp, ref.ID.String())
	}
	return ref, err
}

func (d *Digests) load() {
	d.known = map[string]string{}
	text, _ := nolink.ReadFile(d.path)
	for line := range bytes.Lines(text) { // a write may have been cut short
		if stamp, id, ok := strings.Cut(string(line), " "); ok && len(text) < largeList {
			d.known[stamp] = strings.TrimSuffix(id, "\n")
		}
	}
	if len(text) >= largeList {
		_ = os.Remove(d.path)
	}
}

// learn remembers a digest. If it cannot be written, the next run hashes again.
func (d *Digests) learn(stamp, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[stamp] = id
	f, err := nolink.OpenFile(d.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "%s %s\n", stamp, id)
	_ = f.Close()
}

// stampOf identifies an open file and its last change. The stamp is empty if the file
// was changed a moment ago, when another change might not show.
func stampOf(f *os.File) (stamp string, size int64) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || time.Since(time.Unix(st.Ctim.Unix())) < 2*time.Second {
		return "", 0
	}
	return fmt.Sprintf("%d.%d.%d.%d.%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()), st.Size
}
