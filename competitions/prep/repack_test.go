package prep_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// pack returns an archive of the given members, a name and a text each.
func pack(t *testing.T, format archive.Format, members ...[2]string) string {
	t.Helper()
	var buf bytes.Buffer
	p, err := archive.NewPacker(&buf, format, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		w, err := p.Create(m[0])
		if err == nil {
			_, err = io.WriteString(w, m[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// members lists an archive's files and their texts; those of an archive in it
// follow a "!".
func members(t *testing.T, data []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	src := archive.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	err := archive.Walk(context.Background(), src, archive.Sniff(data), archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		content, err := io.ReadAll(r)
		if archive.FormatOf(e.Name) == "" {
			out[e.Name] = string(content)
			return err
		}
		for name, text := range members(t, content) {
			out[e.Name+"!"+name] = text
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func recording(t *testing.T, id, data string) [2]string {
	return [2]string{id + ".zip", pack(t, archive.Zip, [2]string{id + "_audio.wav", "sound"}, [2]string{id + "_data.mat", data}, [2]string{id + "_color.mp4", "colour"})}
}

// labelled is a MATLAB file with a field Video.Labels, and what scipy writes of
// it without the labels; see plugins/data/matlab/testdata/make.py.
func labelled(t *testing.T) (file, cleared string) {
	var oracle struct{ Cases []struct{ File, Want []byte } }
	readJSON(t, "../../plugins/data/matlab/testdata/clear.json", &oracle)
	return string(oracle.Cases[0].File), string(oracle.Cases[0].Want)
}

// TestRepack leaves members out of an archive and of those in it, and fields
// out of its members.
func TestRepack(t *testing.T) {
	mat, cleared := labelled(t)
	raw := rawFiles(map[string]string{
		"in.tar.gz": pack(t, archive.TarGzip, recording(t, "a", "1"), [2]string{"secret/plan.txt", "no"}, [2]string{"top.txt", "yes"},
			[2]string{"deep/b.tar", pack(t, archive.Tar, recording(t, "b", "2"), [2]string{"x_data.mat", ""})}),
		"labelled.zip": pack(t, archive.Zip, recording(t, "a", mat), [2]string{"b.mat", mat}, [2]string{"c.txt", "yes"}),
		"broken.zip":   pack(t, archive.Zip, [2]string{"x_data.mat", ""}, [2]string{"c.zip", "no archive"}),
	})
	block := func(to, from, without string) string {
		return fmt.Sprintf("repack %q {\n from = %q\n %s\n}", to, from, without)
	}
	for name, c := range map[string]struct {
		block string
		want  map[string]string
	}{
		"files of archives in it, and a folder": {block("out.tar.gz", "in.tar.gz", `except = ["*_data.mat", "secret"]`), map[string]string{
			"a.zip!a_audio.wav": "sound", "a.zip!a_color.mp4": "colour", "deep/b.tar!b.zip!b_audio.wav": "sound", "deep/b.tar!b.zip!b_color.mp4": "colour", "top.txt": "yes",
		}},
		"fields": {block("out.zip", "labelled.zip", `clear = { "a_*.mat" = "Video.Labels" }`), map[string]string{
			"a.zip!a_audio.wav": "sound", "a.zip!a_color.mp4": "colour", "a.zip!a_data.mat": cleared, "b.mat": mat, "c.txt": "yes",
		}},
		"another format": {block("out.zip", "in.tar.gz", `except = ["*.zip", "*.tar"]`), map[string]string{"secret/plan.txt": "no", "top.txt": "yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(prepare(t, define(t, "public {\n"+c.block+"\n}"), prep.Options{Raw: raw}), "public", "out.*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v (%v)", files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, members(t, data)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
	mistake(t, raw, block("out.tar.gz", "in.tar.gz", `except = ["*_date.mat"]`), `no member matches "*_date.mat"`)
	mistake(t, raw, block("out.zip", "labelled.zip", `clear = { "*.mta" = "Video.Labels" }`), `no member matches "*.mta"`)
	mistake(t, raw, block("out.zip", "labelled.zip", `clear = { "*.mat" = "Video.Label" }`), "member a_data.mat: there is no Video.Label")
	mistake(t, raw, block("out.zip", "labelled.zip", `clear = { "c.txt" = "x" }`), "not a readable MATLAB file")
	mistake(t, raw, block("out.zip", "labelled.zip", `clear = ["*.mat"]`), "expected an object")
	mistake(t, raw, block("out.zip", "broken.zip", `except = ["*_data.mat"]`), "member c.zip")
	mistake(t, raw, block("out.zip", "../in.zip", `except = ["*_data.mat"]`), "is not a path inside the folder")
	mistake(t, raw, block("out.txt", "in.tar.gz", `except = ["*_data.mat"]`), `format "" is not one of`)
}

// TestGestureErratum prepares recordings with labels: v1 copies the archive as
// it is, v2 empties the labels of the test only.
func TestGestureErratum(t *testing.T) {
	mat, cleared := labelled(t)
	raw := fstest.MapFS{"training.csv": {Data: []byte("Id,Sequence\n0001,3 4\n0300,1 2\n")}, "devel01-40.7z": {}, "valid_all_files_combined.7z": {}, "sample_code_mmrgc.zip": {}}
	for _, name := range []string{"training1", "training2", "training3", "validation1", "validation2", "validation3"} {
		raw[name+".tar.gz"] = &fstest.MapFile{Data: []byte(pack(t, archive.TarGzip, recording(t, "Sample00001", mat)))}
	}
	raw["training4.tar.gz"] = &fstest.MapFile{Data: []byte(pack(t, archive.TarGzip, recording(t, "Sample00300", mat)))}
	v1 := shipped(t, "multi-modal-gesture-recognition")
	v2, err := v1.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	was, is := prepare(t, v1, prep.Options{Raw: raw}), prepare(t, v2, prep.Options{Raw: raw})
	before, after := allSums(t, was), allSums(t, is)
	if got, want := before["public/test.tar.gz"], sumOf(raw["training4.tar.gz"].Data); got != want {
		t.Errorf("v1 has another test.tar.gz")
	}
	delete(before, "public/test.tar.gz")
	delete(after, "public/test.tar.gz")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("other files differ (-v1 +v2):\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(is, "public", "test.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Sample00300.zip!Sample00300_audio.wav": "sound", "Sample00300.zip!Sample00300_data.mat": cleared, "Sample00300.zip!Sample00300_color.mp4": "colour"}
	if diff := cmp.Diff(want, members(t, data)); diff != "" {
		t.Errorf("test.tar.gz (-want +got):\n%s", diff)
	}
}
