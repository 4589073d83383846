package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// zipEntry is an entry of a zip file that is written field by field, so that
// it can say anything. Zero fields are what an honest writer would put there.
type zipEntry struct {
	name, text    string
	local         string // the name in the local header
	flags, method uint16
	host          byte
	attr          uint32
	crc, size     uint32
	packed        uint32
	extra         []byte
	localMethod   uint16
	localSize     uint32
	at            int64 // -1: where it is
	disk          uint16
	descriptor    []byte
}

// zipFile is a zip file that is written field by field.
type zipFile struct {
	entries       []zipEntry
	before, after string
	count         int // added to the number of entries
	dirSize       int // added to the size of the directory
	dirAt         int // added to its place
	disk          uint16
	comment       string
	end64         []byte
}

// or returns v, or what stands for zero.
func or[T comparable](v, zero T) T {
	var none T
	if v == none {
		return zero
	}
	return v
}

// bytes writes the file.
func (z zipFile) bytes() []byte {
	le := binary.LittleEndian
	out := []byte(z.before)
	var dir []byte
	for _, e := range z.entries {
		at := uint32(len(out) - len(z.before))
		crc, size := or(e.crc, crc32.ChecksumIEEE([]byte(e.text))), or(e.size, uint32(len(e.text)))
		packed := or(e.packed, uint32(len(e.text)))
		local := or(e.local, e.name)
		head := func(sig uint32) []byte {
			b := le.AppendUint32(nil, sig)
			if sig == 0x02014b50 {
				b = append(b, 20, or(e.host, 3))
			}
			b = le.AppendUint16(b, 20)
			b = le.AppendUint16(b, e.flags)
			method := e.method
			if sig != 0x02014b50 {
				method = or(e.localMethod, e.method)
			}
			b = le.AppendUint16(b, method)
			b = append(b, 0, 0, 0, 0)
			b = le.AppendUint32(b, crc)
			b = le.AppendUint32(b, packed)
			if sig == 0x02014b50 {
				return le.AppendUint32(b, size)
			}
			return le.AppendUint32(b, or(e.localSize, size))
		}
		b := le.AppendUint16(head(0x04034b50), uint16(len(local)))
		b = append(le.AppendUint16(b, 0), local...)
		out = append(append(append(out, b...), e.text...), e.descriptor...)
		b = le.AppendUint16(head(0x02014b50), uint16(len(e.name)))
		b = le.AppendUint16(b, uint16(len(e.extra)))
		b = le.AppendUint16(b, 0)
		b = le.AppendUint16(b, e.disk)
		b = le.AppendUint16(b, 0)
		b = le.AppendUint32(b, e.attr)
		if e.at != 0 {
			at = uint32(e.at)
		}
		b = append(append(le.AppendUint32(b, at), e.name...), e.extra...)
		dir = append(dir, b...)
	}
	dirAt := len(out) - len(z.before)
	out = append(append(out, dir...), z.end64...)
	out = le.AppendUint32(out, 0x06054b50)
	out = le.AppendUint16(le.AppendUint16(out, z.disk), z.disk)
	n := uint16(len(z.entries) + z.count)
	out = le.AppendUint16(le.AppendUint16(out, n), n)
	out = le.AppendUint32(out, uint32(len(dir)+z.dirSize))
	out = le.AppendUint32(out, uint32(dirAt+z.dirAt))
	out = le.AppendUint16(out, uint16(len(z.comment)))
	return append(append(out, z.comment...), z.after...)
}

func one(e zipEntry) []byte { return zipFile{entries: []zipEntry{e}}.bytes() }

// hostileZips are zip files with what is to be said about each. want is part
// of the error; "" admits the file.
func hostileZips(t *testing.T) []hostile {
	a, b := zipEntry{name: "a", text: "one"}, zipEntry{name: "b", text: "two"}
	with := func(e zipEntry, change func(*zipEntry)) []byte {
		change(&e)
		return one(e)
	}
	honest := zipFile{entries: []zipEntry{a, b}}
	zips := []hostile{
		{"honest", honest.bytes(), nil, ""},
		{"bytes before the archive", zipFile{entries: honest.entries, before: "#!/bin/sh\n"}.bytes(), nil, ""},
		{"comment", zipFile{entries: honest.entries, comment: "hello"}.bytes(), nil, ""},
		{"end record in the comment", zipFile{entries: honest.entries, comment: string(zipFile{}.bytes())}.bytes(), archive.ErrUnsafe, "two end records"},
		{"trailing bytes", zipFile{entries: honest.entries, after: "more"}.bytes(), archive.ErrFormat, "after the end"},
		{"no entries", zipFile{}.bytes(), nil, ""},
		{"fewer entries than it says", zipFile{entries: honest.entries, count: 1}.bytes(), archive.ErrFormat, "declares 3"},
		{"more entries than it says", zipFile{entries: honest.entries, count: -1}.bytes(), archive.ErrFormat, "declares 1"},
		{"directory longer than the file", zipFile{entries: honest.entries, dirSize: 9999}.bytes(), archive.ErrFormat, "outside the file"},
		{"directory too short", zipFile{entries: honest.entries, dirSize: -20}.bytes(), archive.ErrFormat, ""},
		{"directory behind its place", zipFile{entries: honest.entries, dirAt: 1 << 20}.bytes(), archive.ErrFormat, "outside the file"},
		{"split archive", zipFile{entries: honest.entries, disk: 1}.bytes(), archive.ErrFormat, "split archive"},
		{"entry in another part", with(a, func(e *zipEntry) { e.disk = 2 }), archive.ErrFormat, "split archive"},
		{"large end record without a locator", zipFile{entries: honest.entries, count: 0xffff - 2}.bytes(), archive.ErrFormat, "declares 65535"},
		{"large end record elsewhere", zipFile{entries: honest.entries, count: 0xffff - 2, end64: locator(7)}.bytes(), archive.ErrFormat, "zip64 locator"},
		{"twice", zipFile{entries: []zipEntry{a, {name: "a", text: "other"}}}.bytes(), tree.ErrInvalid, `"a" occurs twice`},
		{"file and folder", zipFile{entries: []zipEntry{a, {name: "a/b", text: "x"}}}.bytes(), tree.ErrInvalid, `"a"`},
		{"same place", zipFile{entries: []zipEntry{a, {name: "b", text: "one", at: -0}, {name: "a", text: "one"}}}.bytes(), tree.ErrInvalid, `"a"`},
		{"overlap", overlapping(t), archive.ErrUnsafe, "share"},
		{"beyond the file", with(a, func(e *zipEntry) { e.packed, e.size = 1<<20, 1<<20 }), archive.ErrFormat, "outside the file"},
		{"place beyond the file", with(a, func(e *zipEntry) { e.at = 1 << 30 }), archive.ErrFormat, "outside the file"},
		{"place within another entry", zipFile{entries: []zipEntry{a, {name: "b", text: "two", at: 5}}}.bytes(), archive.ErrUnsafe, "share"},
		{"wrong checksum", with(a, func(e *zipEntry) { e.crc = 7 }), archive.ErrFormat, `"a": wrong checksum`},
		{"two sizes of a stored entry", with(a, func(e *zipEntry) { e.size = 2 }), archive.ErrFormat, "two sizes"},
		{"another name in the entry", with(a, func(e *zipEntry) { e.local = "c" }), archive.ErrUnsafe, `"c" in its own header`},
		{"another size in the entry", with(a, func(e *zipEntry) { e.localSize = 99 }), archive.ErrUnsafe, "disagree"},
		{"another method in the entry", with(a, func(e *zipEntry) { e.localMethod = 8 }), archive.ErrUnsafe, "disagree"},
		{"no deflate", with(a, func(e *zipEntry) { e.method = 8 }), archive.ErrFormat, `"a"`},
		{"no bzip2", with(a, func(e *zipEntry) { e.method = 12 }), archive.ErrFormat, `"a"`},
		{"no lzma", with(a, func(e *zipEntry) { e.method = 14 }), archive.ErrFormat, `"a"`},
		{"no zstd", with(a, func(e *zipEntry) { e.method = 93 }), archive.ErrFormat, `"a"`},
		{"encrypted", with(a, func(e *zipEntry) { e.flags = 1 }), archive.ErrFormat, "encrypted"},
		{"strongly encrypted", with(a, func(e *zipEntry) { e.flags = 1 << 6 }), archive.ErrFormat, "encrypted"},
		{"masked", with(a, func(e *zipEntry) { e.flags = 1 << 13 }), archive.ErrFormat, "encrypted"},
		{"patch", with(a, func(e *zipEntry) { e.flags = 1 << 5 }), archive.ErrFormat, "patch"},
		{"link", with(a, func(e *zipEntry) { e.attr = 0o120777 << 16 }), archive.ErrUnsafe, "is a link"},
		{"link by macOS", with(a, func(e *zipEntry) { e.attr, e.host = 0o120777<<16, 19 }), archive.ErrUnsafe, "is a link"},
		{"device", with(a, func(e *zipEntry) { e.attr = 0o060644 << 16 }), archive.ErrUnsafe, "neither a file nor a folder"},
		{"terminal", with(a, func(e *zipEntry) { e.attr = 0o020644 << 16 }), archive.ErrUnsafe, "neither"},
		{"pipe", with(a, func(e *zipEntry) { e.attr = 0o010644 << 16 }), archive.ErrUnsafe, "neither"},
		{"socket", with(a, func(e *zipEntry) { e.attr = 0o140644 << 16 }), archive.ErrUnsafe, "neither"},
		{"folder with bytes", with(a, func(e *zipEntry) { e.name, e.local = "a/", "a/" }), archive.ErrFormat, "has content"},
		{"broken zip64 field", with(a, func(e *zipEntry) { e.size, e.extra = 0xffffffff, []byte{1, 0, 2, 0, 9, 9} }), archive.ErrFormat, "invalid size"},
		{"zip64 field of exabytes", with(a, func(e *zipEntry) {
			e.size, e.extra = 0xffffffff, append([]byte{1, 0, 8, 0}, slices.Repeat([]byte{0xff}, 8)...)
		}), archive.ErrFormat, "outside"},
		{"code page 437", with(a, func(e *zipEntry) { e.name, e.local = "\x81", "\x81" }), nil, ""},
		{"UTF-8 that is none", with(a, func(e *zipEntry) { e.name, e.local, e.flags = "\x81", "\x81", 1<<11 }), archive.ErrUnsafe, "not UTF-8"},
	}
	for _, method := range []uint16{1, 6, 9, 10, 95, 97, 98, 99, 1234} {
		zips = append(zips, hostile{fmt.Sprint("method ", method), with(a, func(e *zipEntry) { e.method = method }), archive.ErrFormat, fmt.Sprint("method ", method)})
	}
	for _, name := range []string{"/etc/passwd", "../x", "x/../../y", "C:x", `a\b`, "a\x00", "a\nb", "", "a//b", "a/./b", strings.Repeat("n", 256), "\x1b[2J"} {
		zips = append(zips, hostile{fmt.Sprintf("name %.20q", name), with(a, func(e *zipEntry) { e.name, e.local = name, name }), archive.ErrUnsafe, "name"})
	}
	return zips
}

// locator is what leads to the end record of a large zip file.
func locator(at uint64) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 60), 0x07064b50)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, 0), at)
	return binary.LittleEndian.AppendUint32(b, 1)
}

// hostile is an archive and what unpacking it says. want is the kind of error,
// nil for none; text is part of it.
type hostile struct {
	name string
	data []byte
	want error
	text string
}

func TestHostileZips(t *testing.T) {
	zips := hostileZips(t)
	for _, tt := range zips {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := into(memory.New(), source(tt.data), archive.Zip, archive.IntoOptions{})
			if tt.want == nil && err != nil || tt.want != nil && !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
	t.Logf("%d archives", len(zips))
}

// TestHostileLimits holds archives that are sound and too large.
func TestHostileLimits(t *testing.T) {
	zeros := strings.Repeat("\x00", 80<<20)
	bomb := packPairs(t, archive.Zip, []string{"small", "x", "bomb.bin", zeros})
	nested := packPairs(t, archive.Zip, []string{"in.zip", string(bomb)})
	two := packPairs(t, archive.Zip, []string{"Data/a", "x", "data/b", "y"})
	sevens := packPairs(t, archive.SevenZip, []string{"small", "x", "bomb.bin", zeros})
	for _, tt := range []struct {
		name   string
		data   []byte
		limits archive.Limits
		text   string
	}{
		{"ratio", bomb, archive.Limits{Entries: 9, Bytes: 1 << 40, Ratio: 500}, `"bomb.bin"`},
		{"ratio of 7z", sevens, archive.Limits{Entries: 9, Bytes: 1 << 40, Ratio: 500}, `"bomb.bin"`},
		{"size", bomb, archive.Limits{Entries: 9, Bytes: 1 << 20}, `"bomb.bin"`},
		{"count", bomb, archive.Limits{Entries: 1, Bytes: 1 << 40}, `"bomb.bin"`},
		{"size of a nested archive", nested, archive.Limits{Entries: 9, Bytes: 1 << 20}, `"in.zip"`},
		{"ratio of a nested archive", nested, archive.Limits{Entries: 9, Bytes: 1 << 40, Ratio: 500}, `"bomb.bin"`},
	} {
		format, err := archive.FormatIn(source(tt.data), "")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = into(memory.New(), source(tt.data), format, archive.IntoOptions{Limits: tt.limits, Nested: func(string) bool { return true }})
		if !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want ErrUnsafe with %s", tt.name, err, tt.text)
		}
	}
	if _, _, err := into(memory.New(), source(two), archive.Zip, archive.IntoOptions{}); err != nil {
		t.Errorf("names that differ in case: %v", err)
	}
}

// FuzzInto unpacks anything: no panic, no memory beyond the limits, and what
// is admitted has safe names.
func FuzzInto(f *testing.F) {
	f.Add(zipFile{entries: []zipEntry{{name: "a", text: "one"}, {name: "b/c", text: "two"}}}.bytes(), 0)
	f.Add(one(zipEntry{name: "a", text: "x", extra: []byte{1, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0}, size: 0xffffffff}), 0)
	for i, format := range formats {
		var buf bytes.Buffer
		p, err := archive.NewPacker(&buf, format, archive.PackOptions{})
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range []string{"a.txt", "b/c.txt", "b/empty"} {
			w, err := p.Create(name)
			if err != nil {
				f.Fatal(err)
			}
			fmt.Fprint(w, strings.Repeat(name, len(name)%7*9))
		}
		if err := errors.Join(p.Folder("d"), p.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes(), i)
	}
	f.Fuzz(func(t *testing.T, data []byte, format int) {
		if format < 0 || format >= len(formats) {
			return
		}
		store := memory.New()
		ref, _, err := into(store, source(data), formats[format], archive.IntoOptions{Limits: archive.Limits{Entries: 100, Bytes: 4 << 20}, Workers: 2})
		if err != nil {
			return
		}
		for name := range list(t, store, ref) {
			if err := archive.CheckName(name); err != nil {
				t.Error(err)
			}
		}
	})
}

var formats = []archive.Format{archive.Zip, archive.Tar, archive.TarGzip, archive.TarZstd, archive.SevenZip}
