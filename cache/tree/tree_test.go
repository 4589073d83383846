package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

func fileEntry(name, content string) Entry {
	return Entry{Name: name, ID: digest.Of([]byte(content)), Size: int64(len(content)), Type: File}
}

// The digests in this test were made with coreutils 9.1: printf … | sha256sum.
func TestEncode(t *testing.T) {
	dir := Entry{Name: "images", ID: digest.Of([]byte("sub")), Size: 73400, Files: 200, Type: Directory}
	run := fileEntry("run.sh", "abc")
	run.Type = Executable
	got, ref, err := Encode([]Entry{fileEntry("train.csv", ""), dir, run, fileEntry("a\\b\nc", "abc"), fileEntry("\xff", "abc"), fileEntry("Z", "abc")})
	if err != nil {
		t.Fatal(err)
	}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	want := "mleflow tree 1\n" +
		"f 3 " + abc + " Z\n" +
		"f 3 " + abc + ` a\\b\nc` + "\n" +
		"d 73400 200 ddc6e2b224d0fd821669202258386936fc9ce2899e215eec6322b95f8dd96d6a images\n" +
		"x 3 " + abc + " run.sh\n" +
		"f 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 train.csv\n" +
		"f 3 " + abc + " \xff\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("encoding differs (-want +got):\n%s", diff)
	}
	wantRef := cache.Ref{Kind: cache.Tree, ID: digest.Of([]byte(want)), Size: 73400 + 12, Files: 205}
	if ref != wantRef {
		t.Errorf("ref = %+v, want %+v", ref, wantRef)
	}
}

func TestEncodeEmpty(t *testing.T) {
	got, ref, err := Encode(nil)
	if err != nil || string(got) != "mleflow tree 1\n" {
		t.Fatalf("Encode(nil) = %q, %v", got, err)
	}
	// printf 'mleflow tree 1\n' | sha256sum
	if want := "bf82a7a35963b23ba61607a3c8940500d352f0277d25e7ddc2fbe9f4d825e75b"; ref.ID.String() != want || ref.Files != 0 || ref.Size != 0 {
		t.Errorf("ref = %+v", ref)
	}
}

func TestEncodeRefuses(t *testing.T) {
	ok := fileEntry("a", "x")
	tests := map[string][]Entry{
		"empty name":       {{Name: "", ID: ok.ID, Type: File}},
		"dot":              {{Name: ".", ID: ok.ID, Type: File}},
		"dot dot":          {{Name: "..", ID: ok.ID, Type: File}},
		"slash":            {{Name: "a/b", ID: ok.ID, Type: File}},
		"zero byte":        {{Name: "a\x00", ID: ok.ID, Type: File}},
		"long name":        {{Name: strings.Repeat("n", 256), ID: ok.ID, Type: File}},
		"unknown type":     {{Name: "a", ID: ok.ID, Type: 'l'}},
		"no digest":        {{Name: "a", Type: File}},
		"negative size":    {{Name: "a", ID: ok.ID, Size: -1, Type: File}},
		"files of a file":  {{Name: "a", ID: ok.ID, Files: 1, Type: File}},
		"duplicate":        {ok, ok},
		"size overflow":    {{Name: "a", ID: ok.ID, Size: 1 << 62, Type: File}, {Name: "b", ID: ok.ID, Size: 1 << 62, Type: File}},
		"files overflow":   {{Name: "a", ID: ok.ID, Files: 1<<63 - 1, Type: Directory}, ok, {Name: "b", ID: ok.ID, Type: File}},
		"file after files": {{Name: "a", ID: ok.ID, Files: 1<<63 - 1, Type: Directory}, {Name: "b", ID: ok.ID, Type: File}},
	}
	for name, entries := range tests {
		t.Run(name, func(t *testing.T) {
			if got, _, err := Encode(entries); !errors.Is(err, ErrInvalid) {
				t.Errorf("Encode = %q, error %v, want ErrInvalid", got, err)
			}
		})
	}
	if _, _, err := Encode([]Entry{{Name: strings.Repeat("n", 255), ID: ok.ID, Type: File}}); err != nil {
		t.Errorf("a name of 255 bytes: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	const id = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	tests := map[string]string{
		"nothing":            "",
		"other version":      "mleflow tree 2\n",
		"no end of header":   "mleflow tree 1",
		"no end of line":     "mleflow tree 1\nf 3 " + id + " a",
		"empty line":         "mleflow tree 1\n\n",
		"two spaces":         "mleflow tree 1\nf  3 " + id + " a\n",
		"leading zero":       "mleflow tree 1\nf 03 " + id + " a\n",
		"sign":               "mleflow tree 1\nf +3 " + id + " a\n",
		"negative":           "mleflow tree 1\nf -3 " + id + " a\n",
		"too large":          "mleflow tree 1\nf 9223372036854775808 " + id + " a\n",
		"underscore":         "mleflow tree 1\nf 1_0 " + id + " a\n",
		"upper-case digest":  "mleflow tree 1\nf 3 " + strings.ToUpper(id) + " a\n",
		"short digest":       "mleflow tree 1\nf 3 " + id[1:] + " a\n",
		"zero digest":        "mleflow tree 1\nf 3 " + strings.Repeat("0", 64) + " a\n",
		"no name":            "mleflow tree 1\nf 3 " + id + " \n",
		"no space for name":  "mleflow tree 1\nf 3 " + id + "\n",
		"name with slash":    "mleflow tree 1\nf 3 " + id + " a/b\n",
		"parent":             "mleflow tree 1\nd 3 1 " + id + " ..\n",
		"unknown escape":     "mleflow tree 1\nf 3 " + id + ` a\t` + "\n",
		"escape at end":      "mleflow tree 1\nf 3 " + id + ` a\` + "\n",
		"unknown type":       "mleflow tree 1\nl 3 " + id + " a\n",
		"directory as file":  "mleflow tree 1\nd 3 " + id + " a\n",
		"not sorted":         "mleflow tree 1\nf 3 " + id + " b\nf 3 " + id + " a\n",
		"twice":              "mleflow tree 1\nf 3 " + id + " a\nf 3 " + id + " a\n",
		"line without end":   "mleflow tree 1\nf 3 " + id + " " + strings.Repeat("n", 40_000) + "\n",
		"windows line ends":  "mleflow tree 1\r\nf 3 " + id + " a\r\n",
		"sum overflows":      "mleflow tree 1\nf 9223372036854775807 " + id + " a\nf 1 " + id + " b\n",
		"zero byte in name":  "mleflow tree 1\nf 3 " + id + " a\x00\n",
		"text after the end": "mleflow tree 1\nf 3 " + id + " a\nend",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := decode([]byte(text)); !errors.Is(err, ErrInvalid) {
				t.Errorf("Decode = %v, error %v, want ErrInvalid", got, err)
			}
		})
	}
}

func TestDecoderPassesReadErrors(t *testing.T) {
	broken := errors.New("broken")
	d := NewDecoder(io.MultiReader(strings.NewReader("mleflow tree 1\n"), errReader{broken}))
	if _, err := d.Next(); !errors.Is(err, broken) || errors.Is(err, ErrInvalid) {
		t.Errorf("Next: %v, want the reader's error alone", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func FuzzDecode(f *testing.F) {
	long, _, _ := Encode([]Entry{fileEntry("a\\\n", "x"), {Name: "d", ID: digest.Of(nil), Size: 5, Files: 2, Type: Directory}})
	f.Add(long)
	f.Add([]byte("mleflow tree 1\n"))
	f.Add([]byte("mleflow tree 1\nf 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad a\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decode(data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("error %v does not wrap ErrInvalid", err)
			}
			return
		}
		for _, e := range entries {
			if err := CheckName(e.Name); err != nil {
				t.Fatalf("decoded an unsafe name: %v", err)
			}
		}
		again, ref, err := Encode(entries)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("not canonical: %q becomes %q, %v", data, again, err)
		}
		if ref.ID != digest.Of(data) {
			t.Fatal("the identity is not the digest of the encoding")
		}
	})
}

func TestRoundTrip(t *testing.T) {
	var entries []Entry
	for i := range 3000 {
		entries = append(entries, fileEntry(fmt.Sprintf("file-%05d%s", i, strings.Repeat("é\n\\", i%20)), fmt.Sprint(i)))
	}
	data, _, err := Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Error(diff)
	}
}

// decode reads a whole encoding.
func decode(data []byte) ([]Entry, error) {
	entries := make([]Entry, 0, max(0, bytes.Count(data, []byte{'\n'})-1))
	d := NewDecoder(bytes.NewReader(data))
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}
