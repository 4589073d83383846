package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// findZipDir reads the end of a zip file.
func findZipDir(src Source) (*zipDir, error) {
	n := min(src.Size, zipEndLen+1<<16-1)
	tail := make([]byte, n)
	if _, err := src.ReadAt(tail, src.Size-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	i := zipEndAt(tail, 0)
	if i < 0 {
		return nil, fmt.Errorf("%w: no end of the zip directory", ErrFormat)
	}
	if zipEndAt(tail[:i], len(tail)) >= 0 {
		return nil, fmt.Errorf("%w: it has two end records, so programs may disagree about its content", ErrUnsafe)
	}
	end := tail[i:]
	if comment := int(binary.LittleEndian.Uint16(end[20:])); len(end)-zipEndLen != comment {
		return nil, fmt.Errorf("%w: there are data after the end of the archive", ErrFormat)
	}
	d := &zipDir{src: src, count: uint64(binary.LittleEndian.Uint16(end[10:])), count16: true}
	size, offset := uint64(binary.LittleEndian.Uint32(end[12:])), uint64(binary.LittleEndian.Uint32(end[16:]))
	split := binary.LittleEndian.Uint16(end[4:]) != 0 || binary.LittleEndian.Uint16(end[6:]) != 0
	endAt := src.Size - n + int64(i)
	if d.count == 0xffff || size == 0xffffffff || offset == 0xffffffff || binary.LittleEndian.Uint16(end[4:]) == 0xffff {
		at, record, err := zip64End(src, endAt)
		if err != nil {
			return nil, err
		}
		if record != nil {
			d.count, d.count16 = binary.LittleEndian.Uint64(record[32:]), false
			size, offset = binary.LittleEndian.Uint64(record[40:]), binary.LittleEndian.Uint64(record[48:])
			split = binary.LittleEndian.Uint32(record[16:]) != 0 || binary.LittleEndian.Uint32(record[20:]) != 0
			endAt = at
		}
	}
	if split {
		return nil, fmt.Errorf("%w: it is one part of a split archive; join the parts first", ErrFormat)
	}
	if size > uint64(endAt) || offset > uint64(endAt)-size {
		return nil, fmt.Errorf("%w: the zip directory is outside the file", ErrFormat)
	}
	d.size, d.at = int64(size), endAt-int64(size)
	d.base = d.at - int64(offset)
	return d, d.checkStart()
}

// checkStart rejects a file that begins with entries of another archive. Where
// an archive is cut off after an entry that is a zip file, the end of that file
// looks like its own.
func (d *zipDir) checkStart() error {
	if d.base <= 0 {
		return nil
	}
	var first [4]byte
	if _, err := d.src.ReadAt(first[:], 0); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(first[:]) == zipLocalSig {
		return fmt.Errorf("%w: the first %d bytes are of another archive, or this one is cut off after an entry that is a zip file", ErrFormat, d.base)
	}
	return nil
}

// zipEndAt returns the position of the end record in the last bytes of a file,
// or -1. It is the last one whose comment fits in the file, or, with exact,
// ends exactly there.
func zipEndAt(tail []byte, exact int) int {
	for i := len(tail) - zipEndLen; i >= 0; i-- {
		if binary.LittleEndian.Uint32(tail[i:]) != zipEndSig {
			continue
		}
		end := i + zipEndLen + int(binary.LittleEndian.Uint16(tail[i+20:]))
		if end == exact || exact == 0 && end <= len(tail) {
			return i
		}
	}
	return -1
}

// zip64End returns the end record of a large zip file and its position, or nil
// if there is none.
func zip64End(src Source, endAt int64) (int64, []byte, error) {
	if endAt < zipLocatorLen+zipEnd64Len {
		return 0, nil, nil
	}
	var locator [zipLocatorLen]byte
	if _, err := src.ReadAt(locator[:], endAt-zipLocatorLen); err != nil {
		return 0, nil, err
	}
	if binary.LittleEndian.Uint32(locator[:]) != zipLocatorSig {
		return 0, nil, nil
	}
	if binary.LittleEndian.Uint32(locator[16:]) > 1 {
		return 0, nil, fmt.Errorf("%w: it is one part of a split archive; join the parts first", ErrFormat)
	}
	record := make([]byte, zipEnd64Len)
	// The offset in the record does not count what precedes the archive, and the
	// record may be longer than its known fields. It usually ends at the locator.
	for _, at := range []uint64{binary.LittleEndian.Uint64(locator[8:]), uint64(endAt - zipLocatorLen - zipEnd64Len)} {
		if at > uint64(endAt-zipLocatorLen-zipEnd64Len) {
			continue
		}
		if _, err := src.ReadAt(record, int64(at)); err != nil {
			return 0, nil, err
		}
		if binary.LittleEndian.Uint32(record) == zipEnd64Sig {
			return int64(at), record, nil
		}
	}
	return 0, nil, fmt.Errorf("%w: the zip64 locator does not point to an end record", ErrFormat)
}
