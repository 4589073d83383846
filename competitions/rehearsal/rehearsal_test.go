package rehearsal_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/rehearsal"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// raw is the raw data of a test, by file name.
type raw map[string]string

func (r raw) fs() fs.FS {
	out := fstest.MapFS{}
	for name, data := range r {
		out[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return out
}

// draw draws a set and returns its files.
func draw(t *testing.T, r raw, o rehearsal.Options) (raw, *rehearsal.Set) {
	t.Helper()
	o.ID = "mine"
	set, err := rehearsal.Draw(t.Context(), r.fs(), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := rehearsal.Draw(t.Context(), r.fs(), o)
	if err != nil || !bytes.Equal(again.Packed, set.Packed) {
		t.Errorf("a second drawing has other bytes (%v)", err)
	}
	drawn := unpack(t, string(set.Packed), archive.TarZstd)
	if os.Getenv("SHOW") != "" {
		for name, data := range drawn {
			t.Logf("%s\n%.600q", name, data)
		}
	}
	return drawn, set
}

func unpack(t *testing.T, packed string, format archive.Format) raw {
	t.Helper()
	out := raw{}
	err := archive.Walk(t.Context(), archive.Source{ReaderAt: strings.NewReader(packed), Size: int64(len(packed))}, format, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		if e.Folder {
			return nil
		}
		data, err := io.ReadAll(r)
		out[e.Name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rows returns the cells of a table with their columns' names.
func (r raw) rows(t *testing.T, name string) (all []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(r[name])).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %v, %d lines", name, err, len(lines))
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		all = append(all, row)
	}
	return all
}

func column(rows []map[string]string, name string) (cells []string) {
	for _, r := range rows {
		cells = append(cells, r[name])
	}
	return cells
}

// clinic is a data set with patients, visits and notes. A visit's label depends on its
// dose.
func clinic() raw {
	var train, test, sample, patients strings.Builder
	train.WriteString("visit_id,patient,dose,ward,day,note,label\n")
	test.WriteString("visit_id,patient,dose,ward,day,note\n")
	sample.WriteString("visit_id,label\n")
	patients.WriteString("patient,born\n")
	for i := range 90 {
		fmt.Fprintf(&patients, "P-%04x,%d-03-%02d\n", i*419+4096, 1930+i%70, 1+i%28)
	}
	for i := range 1200 {
		id, patient := fmt.Sprintf("v%07d", i*7919%1e7), fmt.Sprintf("P-%04x", i%80*419+4096)
		dose, day := fmt.Sprintf("%.2f", 1+float64(i*37%1000)/50), fmt.Sprintf("2021-%02d-%02d 10:00:00", 1+i%12, 1+i%28)
		ward := []string{"North Wing", "South Wing", "ICU"}[i%3]
		note := fmt.Sprintf("Patient number %d of doctor Miller came back on day %d", i, i%31)
		if i%9 == 0 {
			dose = ""
		}
		if i%4 == 0 {
			fmt.Fprintf(&test, "%s,%s,%s,%s,%s,%s\n", id, patient, dose, ward, day, note)
			fmt.Fprintf(&sample, "%s,0.5\n", id)
		} else {
			fmt.Fprintf(&train, "%s,%s,%s,%s,%s,%s,%d\n", id, patient, dose, ward, day, note, i*37%1000/500)
		}
	}
	return raw{"train.csv": train.String(), "test.csv": test.String(), "sample_submission.csv": sample.String(), "meta/patients.csv": patients.String()}
}

func TestTables(t *testing.T) {
	drawn, set := draw(t, clinic(), rehearsal.Options{})
	train, test := drawn.rows(t, "train.csv"), drawn.rows(t, "test.csv")
	if len(train) < 150 || len(train) > 300 || len(test) < 150 || len(test) > 300 || set.Files != 4 {
		t.Errorf("%d rows of train, %d of test, %d files", len(train), len(test), set.Files)
	}
	if diff := cmp.Diff(column(test, "visit_id"), column(drawn.rows(t, "sample_submission.csv"), "visit_id")); diff != "" {
		t.Errorf("ids of the sample submission (-test +sample): %s", diff)
	}
	patients := column(drawn.rows(t, "meta/patients.csv"), "patient")
	for _, r := range append(slices.Clone(train), test...) {
		dose, _ := strconv.ParseFloat(cmpOr(r["dose"], "1"), 64)
		if !slices.Contains(patients, r["patient"]) || len(r["visit_id"]) != 8 || r["visit_id"][0] != 'v' || len(r["patient"]) != 6 || dose < 1 || dose > 21 {
			t.Fatalf("row %v of patients %v", r, patients)
		}
	}
	for _, id := range column(train, "visit_id") {
		if slices.Contains(column(test, "visit_id"), id) {
			t.Errorf("id %s is in train and test", id)
		}
	}
	if !slices.Contains(set.Copied, "train.csv: ward (3 values)") {
		t.Errorf("copied: %v", set.Copied)
	}
	if c := correlation(train, "dose", "label"); math.Abs(c) < 0.3 {
		t.Errorf("dose and label have correlation %v", c)
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// correlation is that of two columns of numbers, without rows with a missing cell.
func correlation(rows []map[string]string, a, b string) float64 {
	var x, y []float64
	for _, r := range rows {
		v, err := strconv.ParseFloat(r[a], 64)
		w, err2 := strconv.ParseFloat(r[b], 64)
		if err == nil && err2 == nil {
			x, y = append(x, v), append(y, w)
		}
	}
	return correlate(x, y)
}

func correlate(x, y []float64) float64 {
	mean := func(v []float64) (m float64) {
		for _, e := range v {
			m += e / float64(len(v))
		}
		return m
	}
	mx, my, xy, xx, yy := mean(x), mean(y), 0.0, 0.0, 0.0
	for i := range x {
		xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

// photos is a data set of 400 pictures in folders of their class, in an archive, with
// masks and a table.
func photos(t *testing.T) raw {
	var table strings.Builder
	table.WriteString("image,class,quality\n")
	inside, r := fstest.MapFS{}, raw{}
	for i := range 400 {
		class, name := []string{"cat", "dog"}[i%2], fmt.Sprintf("IMG_%05d", i*31+7)
		img := image.NewGray(image.Rect(0, 0, 60+i%2*20, 40))
		for k := range img.Pix {
			img.Pix[k] = color.Gray{uint8(k * i)}.Y
		}
		var photo, mask bytes.Buffer
		if err := jpeg.Encode(&photo, img, nil); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(&mask, img); err != nil {
			t.Fatal(err)
		}
		inside[class+"/"+name+".jpg"] = &fstest.MapFile{Data: photo.Bytes()}
		r["masks/"+name+".png"] = mask.String()
		fmt.Fprintf(&table, "%s.jpg,%s,%d\n", name, class, i*7%100)
	}
	r["labels.csv"] = table.String()
	var packed bytes.Buffer
	p, err := archive.NewPacker(&packed, archive.Zip, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range inside {
		w, err := p.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(f.Data)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	r["photos.zip"] = packed.String()
	return r
}

func TestPicturesWithIDs(t *testing.T) {
	drawn, set := draw(t, photos(t), rehearsal.Options{})
	rows := drawn.rows(t, "labels.csv")
	if len(rows) < 60 || len(drawn) != 1+2*len(rows) || len(set.Packed) > 300_000 {
		t.Errorf("%d rows, %d files, %d bytes", len(rows), len(drawn), len(set.Packed))
	}
	var bright, quality []float64
	for _, r := range rows {
		photo, format, err := image.Decode(strings.NewReader(drawn["photos.zip/"+r["class"]+"/"+r["image"]]))
		if err != nil || format != "jpeg" || photo.Bounds().Dx() > 32 || photo.Bounds().Dy() > 22 {
			t.Fatalf("%v: %v %s", r, err, format)
		}
		if _, ok := drawn["masks/"+strings.TrimSuffix(r["image"], ".jpg")+".png"]; !ok {
			t.Errorf("%v: no mask", r)
		}
		v, _ := strconv.ParseFloat(r["quality"], 64)
		bright, quality = append(bright, float64(color.GrayModel.Convert(photo.At(3, 3)).(color.Gray).Y)), append(quality, v)
	}
	if c := correlate(bright, quality); math.Abs(c) < 0.5 {
		t.Errorf("brightness and quality have correlation %v", c)
	}
}

// TestNothingLeaks looks for the cells of ids and texts, and for whole rows, of the raw
// data in the drawn set.
func TestNothingLeaks(t *testing.T) {
	secret := map[string][]string{"train.csv": {"visit_id", "patient", "note"}, "test.csv": {"visit_id", "patient", "note"}, "sample_submission.csv": {"visit_id"}, "meta/patients.csv": {"patient"}}
	secrets := clinic()
	for i := range 60 {
		secrets[fmt.Sprintf("letters/%s%03d.txt", []string{"Smith", "Jones", "Weber"}[i%3], i)] = fmt.Sprintf("Dear Doctor %d\n\nthis is letter number %d about Smith\n", i, i)
	}
	for _, noValues := range []bool{false, true} {
		drawn, set := draw(t, secrets, rehearsal.Options{NoValues: noValues})
		all := ""
		for name, data := range drawn {
			all += name + "\n" + data + "\n"
		}
		for name, columns := range secret {
			for _, line := range strings.Split(strings.TrimSpace(secrets[name]), "\n")[1:] {
				if strings.Contains(all, line+"\n") {
					t.Errorf("row %s of %s is in the drawn set", line, name)
				}
			}
			for _, r := range secrets.rows(t, name) {
				for _, c := range columns {
					if strings.Contains(all, r[c]) {
						at := strings.Index(all, r[c])
						t.Fatalf("%s of %s is in the drawn set: %s in %q", c, name, r[c], all[max(0, at-50):at+50])
					}
				}
			}
		}
		for _, word := range []string{"Miller", "Smith", "Dear", "letter number"} {
			if strings.Contains(all, word) {
				t.Errorf("%q is in the drawn set", word)
			}
		}
		if has := strings.Contains(all, "North Wing"); has == noValues || noValues && (len(set.Copied) > 0) {
			t.Errorf("values of categories: %v with no-values %v, copied %v", has, noValues, set.Copied)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	r := raw{"a.csv": "x\n1\n", "b.json": "{}", "deep/scan.dcm": "?", "more/of.dcm": "?"}
	if _, err := rehearsal.Draw(t.Context(), r.fs(), rehearsal.Options{ID: "mine"}); err == nil || !strings.Contains(err.Error(), "deep/scan.dcm has a format that cannot be drawn; leave such files out with --skip '*.dcm'") || !strings.Contains(err.Error(), "b.json has") {
		t.Errorf("error %v", err)
	}
	drawn, _ := draw(t, r, rehearsal.Options{Skip: []string{"*.dcm", "*.json"}})
	if _, ok := drawn["a.csv"]; !ok || len(drawn) != 1 {
		t.Errorf("files %v", drawn)
	}
	if _, err := rehearsal.Draw(t.Context(), r.fs(), rehearsal.Options{ID: "mine", Skip: []string{"["}}); err == nil || !strings.Contains(err.Error(), path.ErrBadPattern.Error()) {
		t.Errorf("error %v", err)
	}
}

// TestFolders draws files in folders that are ids.
func TestFolders(t *testing.T) {
	r, table := raw{}, "patient,scan,species\n"
	for i := range 80 {
		for k := range 4 {
			r[fmt.Sprintf("scans/p%03d/%d.txt", 2*i, 1000*i+k)] = "text\n"
			table += fmt.Sprintf("p%03d,%d,species%d\n", 2*i, 1000*i+k, i%60)
		}
	}
	r["scans.csv"], r["sample.csv"] = table, "scan"
	for i := range 60 {
		r["sample.csv"] += fmt.Sprintf(",species%d", i)
	}
	drawn, _ := draw(t, r, rehearsal.Options{NoValues: true})
	scans := drawn.rows(t, "scans.csv")
	for _, row := range scans {
		if _, ok := drawn["scans/"+row["patient"]+"/"+row["scan"]+".txt"]; !ok || !strings.Contains(drawn["sample.csv"], row["species"]) {
			t.Errorf("row %v fits no file or no class", row)
		}
	}
	if len(scans) < 30 || len(drawn) != 2+len(scans) {
		t.Errorf("%d scans, %d files", len(scans), len(drawn))
	}
}

// TestFewIDs sees that the letters of a few names are not taken for a common prefix.
func TestFewIDs(t *testing.T) {
	drawn, _ := draw(t, raw{"authors.csv": "author,city\nMillerAnna,Riverford\nMillerHans,Riverford\n"}, rehearsal.Options{})
	if text := drawn["authors.csv"]; strings.Contains(text, "Miller") || strings.Count(text, "\n") != 3 {
		t.Errorf("drawn: %s", text)
	}
}
