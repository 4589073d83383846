package mask

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

var testSalt = Salt("a salt of these tests")

func TestKeysHaveTheFormOfIDs(t *testing.T) {
	k := newKeyer(testSalt)
	for _, n := range []uint64{0, 1, 1<<52 - 1, 1 << 52, 1<<62 - 1} {
		key, err := strconv.ParseUint(k.key(strconv.FormatUint(n, 10)), 10, 64)
		if err != nil || key >= 1<<63 || n < 1<<52 && key >= 1<<53 {
			t.Errorf("%d became %d, %v", n, key, err)
		}
	}
	for id, suffix := range map[string]string{"abc": "", "abc.jpg": ".jpg", "a b.tar.gz": ".tar.gz", "1.2.840.1": "", "-5": "", ".hidden": "", "18446744073709551615": ""} {
		key := k.key(id)
		if key[0] != 'm' || !strings.HasSuffix(key, suffix) || len(key) != 21+len(suffix) {
			t.Errorf("%q became %q", id, key)
		}
	}
	if k.key("abc.jpg") != k.key("abc")+".jpg" || k.key("12.jpg") != k.key("12")+".jpg" {
		t.Error("a file and its id have different keys")
	}
	if k.key("007") != k.key("7") {
		t.Error("one number has two keys")
	}
	if k.key("abc") == newKeyer(Salt("another salt of tests")).key("abc") {
		t.Error("the salt makes no difference")
	}
	if k.key("") != "" {
		t.Error("an empty cell has a key")
	}
}

// TestPermute goes through all integers of a small width.
func TestPermute(t *testing.T) {
	k := newKeyer(testSalt)
	seen := map[uint64]bool{}
	for n := range uint64(1 << 12) {
		p := k.permute(n, 6)
		if p >= 1<<12 || seen[p] {
			t.Fatalf("%d became %d, which is taken or too large", n, p)
		}
		seen[p] = true
	}
}

func testMasker(t *testing.T, spill int, ids ...string) *masker {
	columns := []competitions.MaskColumn{{Name: "id"}}
	keys := newKeyer(testSalt)
	for _, id := range ids {
		keys.ids.add(id)
	}
	return &masker{rule: rule{columns: columns}, keys: keys, work: t.TempDir(), spillAt: spill}
}

// TestTable: cells that are no ids keep every byte, and rows with equal ids their
// order.
func TestTable(t *testing.T) {
	in := "\ufeff\"id\",text,n\r\nb,\"x, \"\"y\"\"\nz\",1.50\r\na,q\"r,2\r\n\"b\",,3"
	var out bytes.Buffer
	m := testMasker(t, spillAt)
	if err := m.table(strings.NewReader(in), &out, ','); err != nil {
		t.Fatal(err)
	}
	a, b := m.keys.key("a"), m.keys.key("b")
	rows := []string{b + ",\"x, \"\"y\"\"\nz\",1.50\r\n", "\"" + b + "\",,3\n"}
	other := a + ",q\"r,2\r\n"
	want := "\ufeff\"id\",text,n\r\n" + rows[0] + rows[1] + other
	if m.keys.order("a") < m.keys.order("b") {
		want = "\ufeff\"id\",text,n\r\n" + other + rows[0] + rows[1]
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestSpilled: a table that does not fit in memory gets the same bytes.
func TestSpilled(t *testing.T) {
	var in strings.Builder
	in.WriteString("id,n\n")
	for n := range 5000 {
		fmt.Fprintf(&in, "%d,%d\n", n%700, n)
	}
	var small, large bytes.Buffer
	if err := testMasker(t, 1000).table(strings.NewReader(in.String()), &small, ','); err != nil {
		t.Fatal(err)
	}
	if err := testMasker(t, spillAt).table(strings.NewReader(in.String()), &large, ','); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(small.Bytes(), large.Bytes()) || bytes.Count(small.Bytes(), []byte("\n")) != 5001 {
		t.Error("rows differ when they go through files")
	}
}

func TestJSON(t *testing.T) {
	m := testMasker(t, spillAt, "abc")
	abc, five := m.keys.key("abc"), m.keys.key("5")
	for in, want := range map[string]string{
		`{"id": "abc", "file": "img\/abc.png", "n": NaN}`: `{"id": "` + abc + `", "file": "img/` + abc + `.png", "n": NaN}` + "\n",
		`[{"id": 5, "other": {"id": 5}, "s": "a\"]}"}]`:   `[{"id": ` + five + `, "other": {"id": 5}, "s": "a\"]}"}]` + "\n",
		"[]":                "[]\n",
		`{"abc": [1, "5"]}`: `{"` + abc + `": [1, "5"]}` + "\n",
	} {
		var out bytes.Buffer
		if err := m.json(strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	for _, in := range []string{`[{"id": 1}`, `{"id": "abc`, `{"id": -5}`} {
		if err := m.json(strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("%s is no error", in)
		}
	}
}

func TestElement(t *testing.T) {
	m := testMasker(t, spillAt, "abc", "12")
	for in, want := range map[string]string{
		"train/abc.png": "train/" + m.keys.key("abc") + ".png",
		"abc/x.tar.gz":  m.keys.key("abc") + "/x.tar.gz",
		"12/12.png":     "12/" + m.keys.key("12") + ".png", // 12 may be a class
		"abcd.png":      "abcd.png",
	} {
		if got := m.path(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func chunk(kind, data string) string {
	body := kind + data
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + body +
		string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

func TestStripped(t *testing.T) {
	png := func(parts ...string) string { return "\x89PNG\r\n\x1a\n" + strings.Join(parts, "") }
	header, pixels, end := chunk("IHDR", "0123456789abc"), chunk("IDAT", "pixels"), chunk("IEND", "")
	jpeg := func(parts ...string) string {
		return "\xff\xd8" + strings.Join(parts, "") + "\xff\xda\x00\x02scan\xff\xd9"
	}
	jfif, exif, comment := "\xff\xe0\x00\x04JF", "\xff\xe1\x00\x06Exif", "\xff\xfe\x00\x04hi"
	for in, want := range map[string]string{
		png(header, chunk("tEXt", "Title\x00x"), chunk("eXIf", "II"), pixels, chunk("tIME", "1234567"), end): png(header, pixels, end),
		png(header, "\x00\x00"):                       png(header, "\x00\x00"),
		jpeg(jfif, exif, comment, "\xff\xee\x00\x02"): jpeg(jfif, "\xff\xee\x00\x02"),
		"not an image":                                "not an image",
		"":                                            "",
	} {
		var out bytes.Buffer
		if err := stripped(&out, bufio.NewReader(strings.NewReader(in))); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%q became %q, want %q", in, out.String(), want)
		}
	}
}

func TestParseSalt(t *testing.T) {
	if _, err := ParseSalt([]byte("  0123456789abcde\n")); err == nil {
		t.Error("15 bytes are enough")
	}
	if salt, err := ParseSalt([]byte("0123456789abcdef\n")); err != nil || !slices.Equal(salt, Salt("0123456789abcdef")) {
		t.Errorf("%q, %v", salt, err)
	}
}
