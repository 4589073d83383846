package mask

import (
	"encoding/binary"
	"os"

	"github.com/mleflow/mleflow/cache/leaf/spill"
)

// spillAt is the number of bytes of lines that are kept in memory.
const spillAt = 128 << 20

// sorter writes lines in their order, and those of equal order as they came.
type sorter struct{ spill.Sorter }

func (m *masker) newSorter() *sorter {
	temp := func() (*os.File, error) { return spill.File(m.work) }
	return &sorter{spill.Sorter{Memory: m.spillAt, Temp: temp}}
}

func (s *sorter) add(order uint64, line []byte) error {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], order)
	return s.Add(key[:], line)
}
