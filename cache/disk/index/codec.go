package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// The types of output values in a record.
const (
	valueJSON = 'j'
	valueBlob = 'b'
	valueTree = 't'
)

// encodeRecord appends the payload of a record: strings after their lengths,
// numbers as varints, outputs sorted by name.
func encodeRecord(buf []byte, rec *cache.Record) ([]byte, error) {
	buf = appendString(buf, rec.Kind)
	buf = appendString(buf, rec.Address)
	buf = appendString(buf, rec.Run)
	buf = binary.AppendVarint(buf, rec.StartedUnixMilli)
	buf = binary.AppendVarint(buf, rec.DurationMillis)
	buf = binary.AppendUvarint(buf, uint64(len(rec.Fields)))
	for _, f := range rec.Fields {
		buf = appendString(appendString(buf, f.Label), f.Value)
	}
	buf = binary.AppendUvarint(buf, uint64(len(rec.Outputs)))
	for _, name := range slices.Sorted(maps.Keys(rec.Outputs)) {
		var err error
		if buf, err = appendValue(appendString(buf, name), rec.Outputs[name]); err != nil {
			return nil, fmt.Errorf("output %q: %w", name, err)
		}
	}
	if t := rec.Tries; t != (cache.Tries{}) {
		buf = appendString(appendString(buf, t.Provisional), t.Why)
		buf = binary.AppendUvarint(binary.AppendUvarint(buf, uint64(t.Earlier)), uint64(t.Spoilt))
		end := len(buf) // fields without a value at the end are left out
		for _, later := range []struct {
			text   string
			number int
			is     bool
		}{{text: t.GPU}, {number: t.Resumes, is: true}, {text: t.SecretIn}, {number: t.Begun, is: true}, {text: t.Steered}} {
			if later.is {
				buf = binary.AppendUvarint(buf, uint64(later.number))
			} else {
				buf = appendString(buf, later.text)
			}
			if later.text != "" || later.number > 0 {
				end = len(buf)
			}
		}
		buf = buf[:end]
	}
	if len(buf) > maxPayload {
		return nil, fmt.Errorf("it takes %d bytes, more than %d: keep large values as content", len(buf), maxPayload)
	}
	return buf, nil
}

func appendString(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func appendValue(buf []byte, v cache.Value) ([]byte, error) {
	if v.Ref.IsZero() {
		buf = append(buf, valueJSON)
		return append(binary.AppendUvarint(buf, uint64(len(v.JSON))), v.JSON...), nil
	}
	switch v.Ref.Kind {
	case cache.Blob:
		buf = append(buf, valueBlob)
	case cache.Tree:
		buf = append(buf, valueTree)
	default:
		return nil, fmt.Errorf("unknown kind of object %q", v.Ref.Kind)
	}
	buf = append(buf, v.Ref.ID[:]...)
	buf = binary.AppendVarint(buf, v.Ref.Size)
	return binary.AppendVarint(buf, v.Ref.Files), nil
}

// ErrPayload means that a record is complete but cannot be decoded.
var ErrPayload = errors.New("the record cannot be decoded")

// decoder reads a payload. After the first error all further reads return zero
// values.
type decoder struct {
	text string
	err  error
}

// decodeRecord reads a payload. It copies the payload once; all strings of the
// record share that copy.
func decodeRecord(id digest.ActionID, payload []byte) (*cache.Record, error) {
	d := decoder{text: string(payload)}
	rec := &cache.Record{Action: id, Kind: d.string(), Address: d.string(), Run: d.string()}
	rec.StartedUnixMilli = d.varint()
	rec.DurationMillis = d.varint()
	if n := d.count(); n > 0 {
		rec.Fields = make([]digest.Field, n)
		for i := range rec.Fields {
			rec.Fields[i] = digest.Field{Label: d.string(), Value: d.string()}
		}
	}
	n := d.count()
	rec.Outputs = make(cache.Outputs, n)
	for range n {
		name := d.string()
		rec.Outputs[name] = d.value()
	}
	if d.text != "" {
		rec.Tries = cache.Tries{Provisional: d.string(), Why: d.string(), Earlier: int(d.uvarint()), Spoilt: int(d.uvarint())}
	}
	if d.text != "" {
		rec.Tries.GPU = d.string()
	}
	if d.text != "" {
		rec.Tries.Resumes = int(d.uvarint())
	}
	if d.text != "" {
		rec.Tries.SecretIn = d.string()
	}
	if d.text != "" {
		rec.Tries.Begun = int(d.uvarint())
	}
	if d.text != "" {
		rec.Tries.Steered = d.string()
	}
	if d.err == nil && d.text != "" {
		d.err = ErrPayload
	}
	return rec, d.err
}

func (d *decoder) fail() {
	d.err = ErrPayload
	d.text = ""
}

func (d *decoder) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(d.text) && i < binary.MaxVarintLen64; i++ {
		c := d.text[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.text = d.text[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}

func (d *decoder) varint() int64 {
	v := d.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// count reads the number of elements that follow, each of at least two bytes.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.text)/2) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n uint64) string {
	if n > uint64(len(d.text)) {
		d.fail()
		return ""
	}
	s := d.text[:n]
	d.text = d.text[n:]
	return s
}

func (d *decoder) string() string { return d.bytes(d.uvarint()) }

func (d *decoder) value() cache.Value {
	var v cache.Value
	switch kind := d.bytes(1); kind {
	case string(valueJSON):
		if s := d.string(); s != "" {
			v.JSON = []byte(s)
		}
		return v
	case string(valueBlob):
		v.Ref.Kind = cache.Blob
	case string(valueTree):
		v.Ref.Kind = cache.Tree
	default:
		d.fail()
		return v
	}
	copy(v.Ref.ID[:], d.bytes(digest.Size))
	v.Ref.Size = d.varint()
	v.Ref.Files = d.varint()
	return v
}
