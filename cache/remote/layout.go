package remote

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// The folders of a remote cache.
const (
	formatKey    = "format"
	formatText   = "mleflow remote cache 1\n"
	objectsName  = "objects"
	packsName    = "packs"
	closuresName = "closures"
	actionsName  = "actions"
)

func keyOf(folder, hex string) string { return folder + "/" + hex[:2] + "/" + hex }

func objectKey(id digest.ContentID) string  { return keyOf(objectsName, id.String()) }
func packKey(id digest.ContentID) string    { return keyOf(packsName, id.String()) }
func closureKey(id digest.ContentID) string { return keyOf(closuresName, id.String()) }
func actionKey(id digest.ActionID) string   { return keyOf(actionsName, id.String()) }

// actionOf returns the action that a key names, and false for other keys, such
// as those of unfinished files.
func actionOf(key string) (digest.ActionID, bool) {
	rest, ok := strings.CutPrefix(key, actionsName+"/")
	if !ok || len(rest) < 3 {
		return digest.ActionID{}, false
	}
	id, err := digest.ParseActionID(rest[3:])
	return id, err == nil && key == actionKey(id)
}

// endMark starts the last line of a file that carries its own checksum.
const endMark = "end "

// sealText appends a line with the digest of everything before it.
func sealText(text []byte) []byte {
	id := digest.Of(text)
	text = append(text, endMark...)
	text = hex.AppendEncode(text, id[:])
	return append(text, '\n')
}

// unseal checks the last line and the first, and returns what is between them.
func unseal(data []byte, header string) ([]byte, error) {
	const tail = len(endMark) + 2*digest.Size + 1
	cut := len(data) - tail
	if cut < len(header) || !bytes.Equal(sealText(bytes.Clone(data[:cut])), data) {
		return nil, fmt.Errorf("%w: its last line does not match the digest of the rest", cache.ErrCorrupt)
	}
	body, ok := bytes.CutPrefix(data[:cut], []byte(header))
	if !ok {
		return nil, fmt.Errorf("%w: it does not start with %q", cache.ErrCorrupt, header)
	}
	return body, nil
}

const (
	closureHeader = "mleflow closure 1\n"
	// maxClosure limits the size of a marker that is read. It is enough for
	// 700,000 packs.
	maxClosure = 64 << 20
)

// closure is the content of a tree's marker.
type closure struct {
	root  cache.Ref
	packs []packRef
	// largeObjects and largeBytes count what is in objects/.
	largeObjects, largeBytes int64
}

// packRef is a pack as a closure names it.
type packRef struct {
	id      digest.ContentID
	bytes   int64
	objects int64
}

// bytes returns what fetching the whole closure transfers.
func (c *closure) bytes() int64 {
	return c.largeBytes + lists.Sum(c.packs, func(p packRef) int64 { return p.bytes })
}

func (c *closure) encode() []byte {
	var b bytes.Buffer
	b.WriteString(closureHeader)
	fmt.Fprintf(&b, "tree %d %d %s\n", c.root.Size, c.root.Files, c.root.ID)
	for _, p := range c.packs {
		fmt.Fprintf(&b, "pack %d %d %s\n", p.bytes, p.objects, p.id)
	}
	fmt.Fprintf(&b, "large %d %d\n", c.largeObjects, c.largeBytes)
	return sealText(b.Bytes())
}

// decodeClosure reads the marker of root. It accepts exactly what encode writes; anything
// else is cache.ErrCorrupt.
func decodeClosure(root cache.Ref, data []byte) (*closure, error) {
	body, err := unseal(data, closureHeader)
	if err != nil {
		return nil, err
	}
	c := &closure{root: root}
	for line := range strings.Lines(string(body)) {
		var p packRef
		var id string
		if _, err := fmt.Sscanf(line, "pack %d %d %s", &p.bytes, &p.objects, &id); err == nil {
			p.id, _ = digest.ParseContentID(id)
			c.packs = append(c.packs, p)
		} else {
			_, _ = fmt.Sscanf(line, "large %d %d", &c.largeObjects, &c.largeBytes)
		}
	}
	if !bytes.Equal(c.encode(), data) {
		return nil, fmt.Errorf("%w: it is not a marker of this tree", cache.ErrCorrupt)
	}
	return c, nil
}

const (
	packHeader = "mleflow pack 1\n"
	// smallObject is the largest size of an object that goes into a pack. Larger
	// objects use the bandwidth well by themselves.
	smallObject = 256 << 10
	// packBytes is the size at which a pack is complete, and packObjects the most
	// objects it may hold, which limits its index to a few MB. A fetch may need
	// only one object of a pack, so a pack must not be much larger.
	packBytes   = 32 << 20
	packObjects = 16 << 10
)

// object is an entry in the index of a pack.
type object struct {
	id   digest.ContentID
	size int64
}

// encodeIndex returns the first part of a pack, and the pack's name.
func encodeIndex(objects []object) ([]byte, digest.ContentID) {
	buf := make([]byte, 0, len(packHeader)+80*len(objects))
	buf = append(buf, packHeader...)
	for _, o := range objects {
		buf = strconv.AppendInt(buf, o.size, 10)
		buf = append(buf, ' ')
		buf = hex.AppendEncode(buf, o.id[:])
		buf = append(buf, '\n')
	}
	buf = append(buf, '\n')
	return buf, digest.Of(buf)
}

// readIndex reads the index of the pack id, and returns its length as well. An invalid
// one is cache.ErrCorrupt.
func readIndex(r *bufio.Reader, id digest.ContentID) (objects []object, size int64, err error) {
	hash := digest.NewWriter()
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, fmt.Errorf("%w: its index is incomplete", cache.ErrCorrupt)
		}
		if err != nil {
			return nil, 0, err
		}
		_, _ = hash.Write(line)
		size += int64(len(line))
		text := string(line[:len(line)-1])
		switch {
		case n == 0 && text+"\n" != packHeader:
			return nil, 0, fmt.Errorf("%w: it is not a pack", cache.ErrCorrupt)
		case n == 0:
		case text == "":
			if hash.ID() != id {
				return nil, 0, fmt.Errorf("%w: its index does not match its name", cache.ErrCorrupt)
			}
			return objects, size, nil
		case n > packObjects:
			return nil, 0, fmt.Errorf("%w: it contains too many objects", cache.ErrCorrupt)
		default:
			o, err := parseObject(text)
			if err != nil {
				return nil, 0, fmt.Errorf("%w: %w", cache.ErrCorrupt, err)
			}
			objects = append(objects, o)
		}
	}
}

func parseObject(text string) (o object, err error) {
	size, id, ok := strings.Cut(text, " ")
	if !ok {
		return o, fmt.Errorf("line %q is invalid", text)
	}
	if o.size, err = strconv.ParseInt(size, 10, 64); err != nil {
		return o, err
	}
	if o.size < 0 || o.size > packBytes {
		return o, fmt.Errorf("line %q: impossible size", text)
	}
	o.id, err = digest.ParseContentID(id)
	return o, err
}

const (
	actionHeader = "mleflow action 1\n"
	// maxRecord is the largest size of a stored record.
	maxRecord = 64 << 20
)

// encodeRecord returns the bytes of a record's object.
func encodeRecord(rec *cache.Record) ([]byte, error) {
	text, err := json.Marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	if len(text) > maxRecord/2 {
		return nil, fmt.Errorf("encode record: it takes %d bytes, more than %d", len(text), maxRecord/2)
	}
	data := make([]byte, 0, len(actionHeader)+len(text)+128)
	data = append(append(append(data, actionHeader...), text...), '\n')
	return sealText(data), nil
}

// decodeRecord reads the record of an action. An incomplete one, that of another action,
// or one with fields that do not give its key is cache.ErrCorrupt.
func decodeRecord(id digest.ActionID, data []byte) (*cache.Record, error) {
	body, err := unseal(data, actionHeader)
	if err != nil {
		return nil, err
	}
	rec := new(cache.Record)
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(rec); err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrCorrupt, err)
	}
	if !rec.IsOf(id) {
		return nil, fmt.Errorf("%w: it is the record of another action", cache.ErrCorrupt)
	}
	for name, v := range rec.Outputs {
		if !v.Ref.IsZero() && v.Ref.Kind != cache.Blob && v.Ref.Kind != cache.Tree || v.Ref.Size < 0 || v.Ref.Files < 0 {
			return nil, fmt.Errorf("%w: output %q names no object", cache.ErrCorrupt, name)
		}
	}
	return rec, nil
}

// refsOf returns the content that a record names, each reference once, in a
// fixed order.
func refsOf(rec *cache.Record) []cache.Ref {
	var refs []cache.Ref
	for _, name := range slices.Sorted(maps.Keys(rec.Outputs)) {
		ref := rec.Outputs[name].Ref
		if !ref.IsZero() && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// copyRecord returns a deep copy, so that callers may change theirs.
func copyRecord(rec *cache.Record) *cache.Record {
	other := *rec
	other.Fields = slices.Clone(rec.Fields)
	other.Outputs = maps.Clone(rec.Outputs)
	return &other
}
