package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

func testFrame(i int) frame {
	kinds := []byte{frameRecord, frameDrop, frameUses}
	return frame{
		kind: kinds[i%3], id: actionOf(fmt.Sprint(i)), address: addressHash(fmt.Sprint(i)), millis: int64(i) * 1000,
		payload: bytes.Repeat([]byte{byte(i), '\n'}, i),
	}
}

func scanAll(data []byte) (ids []digest.ActionID, end, bad int) {
	end, bad = scanFrames(data, 0, func(f frame, _, _ int) { ids = append(ids, f.id) })
	return ids, end, bad
}

func TestFrameRoundTrip(t *testing.T) {
	for i := range 50 {
		want := testFrame(i)
		line := want.append([]byte("before"))[len("before"):]
		got, n := parseFrame(append(line[:len(line):len(line)], "after"...))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(frame{})); n != len(line) || diff != "" {
			t.Fatalf("frame %d: %d of %d bytes (-want +got):\n%s", i, n, len(line), diff)
		}
	}
}

// Every cut and every flipped bit costs the frame it is in and no other.
func TestFrameDamage(t *testing.T) {
	var data []byte
	var starts []int
	var ids []digest.ActionID
	for i := range 6 {
		starts = append(starts, len(data))
		ids = append(ids, testFrame(i).id)
		data = testFrame(i).append(data)
	}
	starts = append(starts, len(data))
	for cut := range len(data) - 1 {
		got, end, _ := scanAll(data[:cut])
		whole := 0
		for whole < 6 && starts[whole+1] <= cut {
			whole++
		}
		if !slices.Equal(got, ids[:whole]) || end != starts[whole] {
			t.Fatalf("cut at %d: %d frames up to %d, want %d up to %d", cut, len(got), end, whole, starts[whole])
		}
		// The next writer ends what was cut, and adds to it.
		healed := data[:cut:cut]
		if cut > end {
			healed = append(healed, '\n')
		}
		got, end, _ = scanAll(testFrame(9).append(healed))
		if cut == starts[whole+1]-1 {
			whole++ // only the line feed was missing
		}
		want := append(ids[:whole:whole], testFrame(9).id)
		if diff := cmp.Diff(want, got); diff != "" || end == 0 {
			t.Fatalf("cut at %d and healed:\n%s", cut, diff)
		}
	}
	for at := range len(data) {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1 << (at % 8)
		got, _, _ := scanAll(damaged)
		hit := 0
		for starts[hit+1] <= at {
			hit++
		}
		want := append(ids[:hit:hit], ids[hit+1:]...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("bit flipped at %d:\n%s", at, diff)
		}
	}
}

// What a writer leaves that dies is told from what was written whole and
// damaged later, whatever bit of it.
func TestTorn(t *testing.T) {
	payload, err := encodeRecord(nil, recordOf("a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []frame{testFrame(1), testFrame(2), {kind: frameRecord, id: actionOf("a"), payload: payload}} {
		line := f.append(nil)
		for cut := 1; cut < len(line)-1; cut++ {
			if !torn(append(line[:cut:cut], '\n')) {
				t.Fatalf("%c cut at %d of %d is taken for damage", f.kind, cut, len(line))
			}
			if twice := bytes.Repeat(append(line[:cut:cut], '\n'), 2); !torn(twice) {
				t.Fatalf("%c cut twice at %d is taken for damage", f.kind, cut)
			}
		}
		for at := range len(line) {
			damaged := bytes.Clone(line)
			damaged[at] ^= 1 << (at % 8)
			// The length of a frame that is no record can be checked by nothing else.
			if isLength := at >= frameLengthAt && at < frameCRCAt-1; torn(damaged) && (f.kind == frameRecord || !isLength) {
				t.Fatalf("%c with bit %d flipped at %d is taken for torn", f.kind, at%8, at)
			}
		}
	}
}

func FuzzScanFrames(f *testing.F) {
	data := testFrame(1).append(testFrame(3).append(nil))
	f.Add(data)
	f.Add(data[5:])
	f.Add(append(data[:len(data)-3:len(data)-3], "\n"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		before, end, bad := scanAll(data)
		if end > len(data) || bad > end {
			t.Fatalf("end %d and bad %d of %d bytes", end, bad, len(data))
		}
		if end < len(data) {
			data = append(data, '\n') // which may be all that was missing
			before, _, _ = scanAll(data)
		}
		after, end, _ := scanAll(testFrame(5).append(data))
		if end == 0 || len(after) != len(before)+1 || after[len(after)-1] != testFrame(5).id {
			t.Fatalf("a frame appended to %d bytes is not found: %d before, %d after", len(data), len(before), len(after))
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	payload, err := encodeRecord(nil, &cache.Record{
		Kind: "k", Address: "a", Run: "r", Fields: []digest.Field{{Label: "l", Value: "v"}},
		Outputs: cache.Outputs{"j": {JSON: []byte("1")}, "t": {Ref: cache.Ref{Kind: cache.Tree, ID: digest.Of(nil), Size: 5, Files: 2}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(payload)
	f.Add(payload[:len(payload)-3])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := decodeRecord(digest.ActionID{}, data)
		if err != nil {
			if !errors.Is(err, ErrPayload) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := encodeRecord(nil, rec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeRecord(digest.ActionID{}, again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rec, back); diff != "" {
			t.Fatal(diff)
		}
	})
}
