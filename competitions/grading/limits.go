package grading

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// A submission comes from a stranger, so what reading it may take is bounded
// before anything is built of it, in the same way when it is graded and when
// its form is checked. The measure is a file that is trusted: the answers, or
// the sample submission. The limits are fixed numbers next to it, so that the
// verdict is the same on every machine, and far from what a submission is that
// has a score: it may have columns and rows that nobody asks for, and longer
// cells than the sample's.
const (
	// baseBytes and timesBytes bound the file. The largest sample submission of
	// all competitions has some 270 MB.
	baseBytes  = 256 << 20
	timesBytes = 32
	// baseMemory and timesMemory bound the table that is made of it: 1.5 GB of
	// probabilities take 1 GB, and each column counts some hundred bytes.
	baseMemory  = 2 << 30
	timesMemory = 16
)

// limits are the bytes that a submission may have, and its table in memory.
type limits struct{ bytes, memory int64 }

// limitsBeside returns the limits by the trusted file at path.
func limitsBeside(path string) (limits, error) {
	info, err := os.Stat(path)
	if err != nil {
		return limits{}, err
	}
	return limits{MaxBytes(info.Size()), baseMemory + timesMemory*info.Size()}, nil
}

// MaxBytes returns the largest size of a submission by the size of its sample or answers,
// in bytes.
func MaxBytes(trusted int64) int64 { return baseBytes + timesBytes*trusted }

// read reads a submission within the limits. A mistake in the file is an
// *Invalid, whose reason holds no path of this machine.
func (l limits) read(path string, o table.ReadOptions) (*table.Table, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, unreadable("the file cannot be read: permission denied")
	}
	if err != nil {
		return nil, fmt.Errorf("read submission: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read submission: %w", err)
	}
	o.Memory = l.memory
	if info.Size() > l.bytes {
		return nil, unreadable("the file has %d bytes; the limit for this competition is %d", info.Size(), l.bytes)
	}
	t, err := table.ReadCSV(f, o)
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk): // the machine's fault, not the submission's
		return nil, fmt.Errorf("read submission: %w", err)
	case err != nil:
		return nil, unreadable("the file cannot be read as a table: %v", err)
	}
	return t, nil
}

func unreadable(format string, args ...any) *Invalid {
	return &Invalid{Rule: "csv", Reason: fmt.Sprintf(format, args...)}
}
