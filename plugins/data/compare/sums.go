package compare

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// maxBlocks is the largest number of blocks in Blocks.
const maxBlocks = 64

// Blocks tell where a file differs: a sum for each run of Each units (rows, or
// pages of bytes). The sum of a run is the sum of the first 64 bits of its
// units' SHA-256, so that neighbouring runs add up and the number of runs stays
// small whatever the length. They locate a difference; they prove nothing.
type Blocks struct {
	// Each is the number of units in a run: a power of two times the first.
	Each int64 `json:"each"`
	// Sums are 16 hexadecimal digits a run, separated by blanks.
	Sums string `json:"sums"`
}

// blockSums makes Blocks.
type blockSums struct {
	each, units int64
	sums        []uint64
}

func (b *blockSums) add(unit []byte) {
	at := b.units / b.each
	if at == maxBlocks {
		b.widen()
		at = b.units / b.each
	}
	if int(at) == len(b.sums) {
		b.sums = append(b.sums, 0)
	}
	b.sums[at] += first64(sha256.Sum256(unit))
	b.units++
}

// widen doubles the length of a run.
func (b *blockSums) widen() {
	b.sums, b.each = merged(b.sums), b.each*2
}

func merged(sums []uint64) []uint64 {
	out := make([]uint64, 0, maxBlocks)
	for i := 0; i < len(sums); i += 2 {
		sum := sums[i]
		if i+1 < len(sums) {
			sum += sums[i+1]
		}
		out = append(out, sum)
	}
	return out
}

func (b *blockSums) blocks() Blocks {
	texts := make([]string, len(b.sums))
	for i, sum := range b.sums {
		texts[i] = fmt.Sprintf("%016x", sum)
	}
	return Blocks{Each: b.each, Sums: strings.Join(texts, " ")}
}

// parse returns the sums, nil if they are not well formed.
func (b Blocks) parse() []uint64 {
	texts := strings.Fields(b.Sums)
	if b.Each <= 0 || len(texts) > maxBlocks {
		return nil
	}
	sums := make([]uint64, len(texts))
	for i, text := range texts {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != 8 {
			return nil
		}
		sums[i] = binary.BigEndian.Uint64(raw)
	}
	return sums
}

// firstDifferent returns the units [from, to) of the first run that differs.
func (b Blocks) firstDifferent(other Blocks) (from, to int64, ok bool) {
	x, y := b.parse(), other.parse()
	each := b.Each
	for o := other.Each; each != o; {
		switch {
		case each <= 0 || o <= 0:
			return 0, 0, false
		case each < o:
			x, each = merged(x), each*2
		default:
			y, o = merged(y), o*2
		}
	}
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || x[i] != y[i] {
			return int64(i) * each, int64(i+1) * each, true
		}
	}
	return 0, 0, false
}

func first64(sum [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(sum[:8]) }

// multiset sums digests whatever their order.
type multiset [2]uint64

func (m *multiset) add(unit []byte) {
	sum := sha256.Sum256(unit)
	m[0] += first64(sum)
	m[1] += binary.BigEndian.Uint64(sum[8:16])
}

func (m *multiset) String() string { return fmt.Sprintf("%016x%016x", m[0], m[1]) }

// appendCell writes a cell so that no two lists of cells look alike. A cell
// that is not there differs from an empty one.
func appendCell(dst, cell []byte) []byte {
	if cell == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(cell))+1)
	return append(dst, cell...)
}

// short is the first half of a digest in hexadecimal.
func short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
