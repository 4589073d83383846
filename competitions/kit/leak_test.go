package kit_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// data is a prepared competition of 60 test rows and 120 training rows without
// a leak: id, width, height and, kept from agents, label.
type data struct {
	ids, labels []int
	test, train []string // rows of width and height
	trainLabels []int
	files       map[string]string
	head        string // of the training table
}

func newData() *data {
	r := rand.New(rand.NewPCG(1, 2))
	d := &data{files: map[string]string{}, head: "id,width,height,label\n"}
	for i := range 180 {
		row, label := fmt.Sprintf("%d,%d", r.IntN(1e6), r.IntN(1e6)), r.IntN(2)
		if i < 60 {
			d.ids, d.test, d.labels = append(d.ids, i), append(d.test, row), append(d.labels, label)
		} else {
			d.train, d.trainLabels = append(d.train, row), append(d.trainLabels, label)
		}
	}
	return d
}

// table returns a CSV of the test rows with one more column.
func (d *data) table(head string, cell func(i int) any) string {
	var b strings.Builder
	fmt.Fprintln(&b, head)
	for i := range d.ids {
		fmt.Fprintf(&b, "%d,%v\n", d.ids[i], cell(i))
	}
	return b.String()
}

// groups gives the test and the training rows a column patient_id in place of width.
func (d *data) groups(test, train func(i int) int) {
	for i := range d.test {
		d.test[i] = fmt.Sprintf("%d,%d", test(i), i*7919%60)
	}
	for i := range d.train {
		d.train[i] = fmt.Sprintf("%d,%d", train(i), 100+i*7919%120)
	}
	d.files["public/test.csv"] = d.table("id,patient_id,height", func(i int) any { return d.test[i] })
	d.head = "id,patient_id,height,label\n"
}

// folder lays out the files, those of files over the usual ones.
func (d *data) folder() fstest.MapFS {
	var train strings.Builder
	train.WriteString(d.head)
	for i, row := range d.train {
		fmt.Fprintf(&train, "%d,%s,%d\n", 60+i, row, d.trainLabels[i])
	}
	files := map[string]string{
		"public/train.csv":             train.String(),
		"public/test.csv":              d.table("id,width,height", func(i int) any { return d.test[i] }),
		"public/sample_submission.csv": d.table("id,label", func(int) any { return 0.5 }),
		"private/test.csv":             d.table("id,label", func(i int) any { return d.labels[i] }),
	}
	maps.Copy(files, d.files)
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// zipped returns a zip file of one member.
func zipped(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tfrecord returns a TensorFlow record file of one tf.train.Example with an id
// and a label.
func tfrecord(id, target string) string {
	field := func(number byte, data string) string { return string([]byte{number<<3 | 2, byte(len(data))}) + data }
	feature := func(name, value string) string {
		return field(1, field(1, name)+field(2, field(1, field(1, value))))
	}
	record := field(1, feature("id", id)+feature(target, "1"))
	crc := func(data []byte) []byte {
		c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return binary.LittleEndian.AppendUint32(nil, (c>>15|c<<17)+0xa282ead8)
	}
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(record)))
	return string(size) + string(crc(size)) + record + string(crc([]byte(record)))
}

// plantedLeaks are a leak of every kind, and the finding that it must give.
var plantedLeaks = []struct {
	name, rule   string
	severity     kit.Severity
	file, column string
	evidence     string
	plant        func(t *testing.T, d *data)
}{
	{"answers under another name", "reachable-answers", kit.Error, "public/meta.csv", "hint", `holds the answers of column "label"`, func(_ *testing.T, d *data) {
		d.files["public/meta.csv"] = d.table("id,hint", func(i int) any { return d.labels[i] })
	}},
	{"test rows with labels in the training data", "reachable-answers", kit.Error, "public/train.csv", "label", "holds the answers", func(_ *testing.T, d *data) {
		d.files["public/train.csv"] = d.table("id,width,height,label", func(i int) any { return fmt.Sprintf("%s,%d", d.test[i], d.labels[i]) })
	}},
	{"answers under other values", "determined-answers", kit.Error, "public/test.csv", "code", "2 values in 60 rows and determines", func(_ *testing.T, d *data) {
		d.files["public/test.csv"] = d.table("id,width,height,code", func(i int) any { return d.test[i] + "," + []string{"x", "k"}[d.labels[i]] })
	}},
	{"a column that determines the answers", "determined-answers", kit.Error, "public/test.csv", "group", "12 values in 60 rows", func(_ *testing.T, d *data) {
		d.files["public/test.csv"] = d.table("id,width,height,group", func(i int) any { return fmt.Sprintf("%s,g%d", d.test[i], i%6*2+d.labels[i]) })
	}},
	{"a name that only one answer has", "determined-answers", kit.Error, "public/test.csv", "giver", "wherever giver is not empty (32 of 60 rows)", func(_ *testing.T, d *data) {
		d.files["public/test.csv"] = d.table("id,width,height,giver", func(i int) any {
			if d.labels[i] == 1 {
				return fmt.Sprintf("%s,u%d", d.test[i], i)
			}
			return d.test[i] + ",N/A"
		})
		d.labels[0], d.labels[1] = 1, 1 // some givers are not known
	}},
	{"a record of the giver in a member of JSON", "determined-answers", kit.Error, "public/test.zip!test.json", "giver", "33 values in 60 rows", func(t *testing.T, d *data) {
		var rows []string
		for i, label := range d.labels {
			rows = append(rows, fmt.Sprintf(`{"id": "%d", "giver": %s}`, d.ids[i], map[int]string{0: "null", 1: fmt.Sprintf(`"u%d"`, i)}[label]))
		}
		d.files["public/test.zip"] = zipped(t, "test.json", "["+strings.Join(rows, ",")+"]")
	}},
	{"answers in the names of files", "determined-answers", kit.Error, "public", "the name of the file", "determines the answers", func(_ *testing.T, d *data) {
		for i, label := range d.labels {
			d.files[fmt.Sprintf("public/test/%s.%d.jpg", []string{"cat", "dog"}[label], d.ids[i])] = fmt.Sprint("picture", i)
		}
	}},
	{"answers in the sizes of files", "determined-answers", kit.Error, "public/test/{id}.jpg", "the size of the file", "2 values in 60 rows", func(_ *testing.T, d *data) {
		for i, label := range d.labels {
			d.files[fmt.Sprintf("public/test/%d.jpg", d.ids[i])] = fmt.Sprintf("picture %02d", i) + strings.Repeat("x", label)
		}
	}},
	{"ids that sort the answers", "ordered-answers", kit.Error, "private/test.csv", "id", "the order of the ids sorts the answers", func(_ *testing.T, d *data) {
		for i := range d.labels {
			d.labels[i] = i / 30
		}
	}},
	{"ids that nearly sort the answers", "ordered-answers", kit.Warning, "private/test.csv", "id", "nearly sorts", func(_ *testing.T, d *data) {
		for i := range d.labels {
			d.labels[i] = i / 30
		}
		d.labels[7] = 1
	}},
	{"rows that sort the answers", "ordered-answers", kit.Error, "public/other.csv", "id", "the order of the rows sorts the answers", func(_ *testing.T, d *data) {
		text := "id,x\n"
		for label := range 2 {
			for i := range d.ids {
				if d.labels[i] == label {
					text += fmt.Sprintf("%d,%d\n", d.ids[i], i*7919%60)
				}
			}
		}
		d.files["public/other.csv"] = text
	}},
	{"a sample that is the answers", "sample-answers", kit.Error, "public/sample_submission.csv", "label", "holds the answers", func(_ *testing.T, d *data) {
		d.files["public/sample_submission.csv"] = d.table("id,label", func(i int) any { return d.labels[i] })
	}},
	{"a sample close to the answers", "sample-answers", kit.Warning, "public/sample_submission.csv", "label", "correlates with the answers", func(_ *testing.T, d *data) {
		d.files["public/sample_submission.csv"] = d.table("id,label", func(i int) any { return 0.4 + 0.2*float64(d.labels[i]) + float64(i%7)/1000 })
	}},
	{"a sample that agrees with most answers", "sample-answers", kit.Warning, "public/sample_submission.csv", "label", "agrees with the answers in 56 of 60 rows", func(_ *testing.T, d *data) {
		d.files["public/sample_submission.csv"] = d.table("id,label", func(i int) any {
			if i < 4 {
				return 1 - d.labels[i]
			}
			return d.labels[i]
		})
	}},
	{"a private file among the public ones", "prepared-file", kit.Error, "public/extra/old.bin", "", "it has the bytes of private/masks.bin", func(_ *testing.T, d *data) {
		d.files["private/masks.bin"], d.files["public/extra/old.bin"] = "secret masks", "secret masks"
	}},
	{"the answers in a public archive", "prepared-file", kit.Error, "public/all.zip!deep/test.csv", "", "it has the bytes of private/test.csv", func(t *testing.T, d *data) {
		d.files["public/all.zip"] = zipped(t, "deep/test.csv", d.table("id,label", func(i int) any { return d.labels[i] }))
	}},
	{"answers in records", "record-answers", kit.Error, "public/test0.tfrec", "label", `1 records of test rows hold a feature "label"`, func(_ *testing.T, d *data) {
		d.files["public/test0.tfrec"] = tfrecord("5", "label")
	}},
	{"answers in records under another name", "record-answers", kit.Error, "public/test0.tfrec", "target", `1 records of test rows hold a feature "target"`, func(_ *testing.T, d *data) {
		d.files["public/test0.tfrec"] = tfrecord("5", "target")
	}},
	{"a target that is not asked for", "ungraded-columns", kit.Warning, "private/test.csv", "second", "it is neither in the sample submission nor graded", func(_ *testing.T, d *data) {
		d.files["private/test.csv"] = d.table("id,label,second", func(i int) any { return fmt.Sprintf("%d,%d", d.labels[i], (i/3)%2) })
	}},
	{"test rows in the training data", "duplicates", kit.Error, "public/test.csv", "", "60 of 60 test rows are also in public/train.csv except for the id", func(_ *testing.T, d *data) {
		copy(d.train, d.test)
		copy(d.trainLabels, d.labels)
	}},
	{"some test rows in the training data", "duplicates", kit.Warning, "public/test.csv", "", "3 of 60 test rows", func(_ *testing.T, d *data) {
		copy(d.train[:3], d.test)
		copy(d.trainLabels[:3], d.labels)
	}},
	{"a test file among the training files", "duplicates", kit.Warning, "public", "", "public/test/5.jpg and public/train/cat/99.jpg", func(_ *testing.T, d *data) {
		d.files["public/test/5.jpg"], d.files["public/train/cat/99.jpg"] = "one picture", "one picture"
	}},
	{"groups in train and test whose answers agree", "groups", kit.Warning, "public/test.csv", "patient_id", "60 of 60 test rows have rows of their group", func(_ *testing.T, d *data) {
		d.groups(func(i int) int { return i % 30 }, func(i int) int { return i % 30 })
		for i := range d.trainLabels {
			d.trainLabels[i] = i % 30 % 2
		}
		for i := range d.labels {
			d.labels[i] = i % 30 % 2
		}
	}},
	{"one group in train and test", "groups", kit.Warning, "public/test.csv", "patient_id", "1 of 15 groups", func(_ *testing.T, d *data) {
		d.groups(func(i int) int { return min(i/4, 14) }, func(i int) int { return 14 + i/5 })
	}},
	{"a sample without a target", "columns", kit.Error, "public/sample_submission.csv", "label", `there is no column "label"; there are id, lable`, func(_ *testing.T, d *data) {
		d.files["public/sample_submission.csv"] = d.table("id,lable", func(int) any { return 0.5 })
	}},
}

// TestPlantedLeaks plants a leak of every kind and asks for one finding that
// names rule, severity, file and column, and what it is seen by.
func TestPlantedLeaks(t *testing.T) {
	for _, tt := range plantedLeaks {
		t.Run(tt.name, func(t *testing.T) {
			d := newData()
			tt.plant(t, d)
			found, err := kit.LintPrepared(edited(t), metric.All(), d.folder())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if f.Rule == tt.rule && f.Severity == tt.severity && f.File == tt.file && f.Column == tt.column && strings.Contains(f.Message, tt.evidence) && f.Excuse == "" {
					return
				}
			}
			t.Errorf("not found: %s %s %s %q %q\nfound: %+v", tt.rule, tt.severity, tt.file, tt.column, tt.evidence, found)
		})
	}
}

// TestNoLeak lints many draws of data without a leak, with columns of few
// values, gaps and files of few sizes: nothing is found.
func TestNoLeak(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		d := newData()
		r.Shuffle(len(d.labels), func(i, j int) { d.labels[i], d.labels[j] = d.labels[j], d.labels[i] })
		d.files["public/test.csv"] = d.table("id,width,height,a,b,c", func(i int) any {
			gap := ""
			if r.IntN(20) == 0 {
				gap = "x"
			}
			return fmt.Sprintf("%s,%d,%d,%s", d.test[i], r.IntN(3), r.IntN(40), gap)
		})
		d.files["public/sample_submission.csv"] = d.table("id,label", func(int) any { return r.IntN(2) })
		for i := range d.ids {
			d.files[fmt.Sprintf("public/test/%d.jpg", i)] = fmt.Sprint(seed, i, strings.Repeat("y", r.IntN(4)))
		}
		found, err := kit.LintPrepared(edited(t), metric.All(), d.folder())
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			t.Fatalf("seed %d: %+v", seed, found)
		}
	}
}

// TestGroupsWithoutLeak has groups on both sides whose answers are drawn for each row, and
// groups on one side only.
func TestGroupsWithoutLeak(t *testing.T) {
	for name, train := range map[string]func(i int) int{
		"drawn answers": func(i int) int { return i % 30 },
		"one side only": func(i int) int { return 30 + i%30 },
	} {
		d := newData()
		d.groups(func(i int) int { return i % 30 }, train)
		found, err := kit.LintPrepared(edited(t), metric.All(), d.folder())
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// TestExcuses asks that a finding is excused by an allowance that covers it, or
// by an erratum of a later version, and by nothing else.
func TestExcuses(t *testing.T) {
	tests := []struct {
		name, block, version string
		want                 string
	}{
		{"nothing", "", "v1", ""},
		{"allowed", `lint {
  allow "determined-answers" {
    file   = "public/*.csv"
    column = "code"
    reason = "it is a joke"
  }
}`, "v1", "allowed: it is a joke"},
		{"another column", `lint {
  allow "determined-answers" {
    column = "other"
    reason = "it is a joke"
  }
}`, "v1", ""},
		{"another rule", `lint {
  allow "duplicates" { reason = "it is a joke" }
}`, "v1", ""},
		{"fixed", erratum, "v1", "fixed in v2: https://example.org/7"},
		{"not fixed by itself", erratum, "v2", ""},
	}
	d := newData()
	d.files["public/test.csv"] = d.table("id,width,height,code", func(i int) any { return d.test[i] + "," + []string{"x", "k"}[d.labels[i]] })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def, err := edited(t, "  medals {", tt.block+"\n  medals {").At(tt.version)
			if err != nil {
				t.Fatal(err)
			}
			found, err := kit.LintPrepared(def, metric.All(), d.folder())
			if err != nil || len(found) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}
			if diff := cmp.Diff(tt.want, found[0].Excuse); diff != "" {
				t.Errorf("excuse (-want +got):\n%s", diff)
			}
			if kit.HasErrors(found) != (tt.want == "") {
				t.Errorf("HasErrors is %v", kit.HasErrors(found))
			}
		})
	}
}

const erratum = `errata "v2" {
  reason    = "it leaks"
  reference = "https://example.org/7"
  fixes     = ["determined-answers"]
}`

// TestRuleNames asks that allowances and errata of shipped competitions name
// rules that there are.
func TestRuleNames(t *testing.T) {
	rules := map[string]bool{}
	for _, r := range kit.Rules() {
		rules[r.Name] = true
	}
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range cat.IDs() {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range def.Allowed {
			if !rules[a.Rule] {
				t.Errorf("%s allows %q, which is no rule", id, a.Rule)
			}
		}
		for _, e := range def.Errata {
			for _, rule := range e.Fixes {
				if !rules[rule] {
					t.Errorf("%s fixes %q, which is not a rule", id, rule)
				}
			}
		}
	}
}

// Every rule on prepared data has a planted leak, but for that on the order of ids.
func TestEveryRuleHasALeak(t *testing.T) {
	planted := map[string]bool{"id-order": true}
	for _, leak := range plantedLeaks {
		planted[leak.rule] = true
	}
	definition := []string{"blocks", "questions", "length", "pins", "layout", "direction", "same-answers", "data-file"}
	for _, r := range kit.Rules() {
		if planted[r.Name] == slices.Contains(definition, r.Name) {
			t.Errorf("rule %s: planted %v; one of the definition: %v", r.Name, planted[r.Name], slices.Contains(definition, r.Name))
		}
	}
}
