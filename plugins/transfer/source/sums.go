package source

import (
	"context"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// sums are the hashes of a file that is being written. Their state can be
// saved and continued by another process.
type sums struct {
	md5 hash.Hash
	// sha is nil if only the MD5 is needed; the store computes the other.
	sha *digest.Writer
	// size is how many bytes were hashed.
	size int64
}

func newSums(sha bool) *sums {
	s := &sums{md5: md5.New()} //nolint:gosec // published pins are MD5
	if sha {
		s.sha = digest.NewWriter()
	}
	return s
}

func (s *sums) write(p []byte) {
	_, _ = s.md5.Write(p)
	if s.sha != nil {
		_, _ = s.sha.Write(p)
	}
	s.size += int64(len(p))
}

func (s *sums) hexMD5() string { return hex.EncodeToString(s.md5.Sum(nil)) }

// state is one line of a journal.
type state struct {
	Size int64  `json:"size"`
	MD5  []byte `json:"md5"`
	SHA  []byte `json:"sha,omitempty"`
}

// line encodes the state of the sums.
func (s *sums) line() ([]byte, error) {
	st := state{Size: s.size}
	var err error
	if st.MD5, err = s.md5.(encoding.BinaryMarshaler).MarshalBinary(); err != nil {
		return nil, fmt.Errorf("save MD5: %w", err)
	}
	if s.sha != nil {
		if st.SHA, err = s.sha.MarshalBinary(); err != nil {
			return nil, fmt.Errorf("save SHA-256: %w", err)
		}
	}
	text, err := json.Marshal(st)
	return append(text, '\n'), err
}

// restore restores a saved state and reports whether it could.
func (s *sums) restore(st state) bool {
	fresh := newSums(s.sha != nil)
	if fresh.md5.(encoding.BinaryUnmarshaler).UnmarshalBinary(st.MD5) != nil {
		return false
	}
	if fresh.sha != nil && (fresh.sha.UnmarshalBinary(st.SHA) != nil || fresh.sha.Size() != st.Size) {
		return false
	}
	fresh.size = st.Size
	*s = *fresh
	return true
}

// mostJournal limits a journal, which has a line of about 400 bytes for every
// 256 MiB of a file.
const mostJournal = 16 << 20

// readJournal returns the saved states up to limit bytes, and whether the
// journal contains anything else.
func readJournal(in cache.Ingest, limit int64) (lines []string, last []state, dirty bool) {
	size := in.Offset()
	text := make([]byte, min(size, mostJournal))
	if n, err := in.ReadAt(text, 0); err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt
		text = text[:n]
		dirty = true
	}
	for line := range strings.Lines(string(text)) {
		var st state
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &st) != nil || st.Size > limit || st.Size <= 0 {
			return lines, last, true
		}
		lines, last = append(lines, line), append(last, st)
	}
	return lines, last, dirty || size > mostJournal
}

// catchUp hashes the bytes in the file that the hashes do not cover yet.
func (s *sums) catchUp(ctx context.Context, in cache.Ingest) error {
	rest := io.NewSectionReader(in, s.size, in.Offset()-s.size)
	_, err := cache.Copy(ctx, sumsWriter{s}, rest)
	if err == nil && s.size != in.Offset() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read unfinished download: %w", err)
	}
	return nil
}

type sumsWriter struct{ s *sums }

// Write implements io.Writer.
func (w sumsWriter) Write(p []byte) (int, error) {
	w.s.write(p)
	return len(p), nil
}
