package prep_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// goldenExempt are outputs that differ from the reference on purpose.
var goldenExempt = map[string][]string{
	// The reference's 7z files hold one empty folder by mistake; ours hold the
	// pictures. No score depends on it.
	"invasive-species-monitoring": {"public/train.7z", "public/test.7z"},
}

// goldenScores are scores that the cases have wrong, with those that the
// reference's grader gives with numpy 1.26.4.
var goldenScores = map[string]map[string]float64{
	// Nearly antipodal places: a unit in the last place of a sine moves the
	// score by metres. The sines and cosines of numpy 1.24.2 are off by one at
	// 82 of the places; those of numpy 1.26.4, of the C library and of mpmath
	// (60 digits) are ours.
	"smartphone-decimeter-2022": {"antipode.csv": 20015086.78949},
}

// goldenByContent are outputs whose bytes depend on the library that writes
// them and its version. They must hold what the reference's file holds.
var goldenByContent = map[string][]string{
	"icecube-neutrinos-in-deep-ice": {"public/test_meta.parquet", "public/train_meta.parquet"},
}

// preparedFile is what prepared.json says about a file.
type preparedFile struct {
	MD5     string                `json:"md5"`
	Members map[string]*memberSum `json:"members"`
}

// memberSum is the MD5 of an archive's member, or the CRC-32 that a 7z archive
// lists, as a decimal number; folders have none.
type memberSum string

// UnmarshalJSON reads a text or a number.
func (m *memberSum) UnmarshalJSON(data []byte) error {
	*m = memberSum(bytes.Trim(data, `"`))
	return nil
}

// TestGolden prepares every case and compares every file with the reference's,
// then grades the case's submissions.
func TestGolden(t *testing.T) {
	for i, id := range goldentest.IDs(t) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			golden(t, id)
		})
	}
}

func golden(t *testing.T, id string) {
	dir := goldentest.Unpack(t, id)
	var want map[string]preparedFile
	readJSON(t, filepath.Join(dir, "prepared.json"), &want)
	def := shipped(t, id)
	out := prepare(t, def, prep.Options{Raw: os.DirFS(filepath.Join(dir, "raw")), Params: goldentest.Params(t, id)})
	got := map[string]preparedFile{}
	err := fs.WalkDir(os.DirFS(out), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			got[name] = describeFile(t, filepath.Join(out, name), want[name])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range goldenExempt[id] {
		delete(want, name)
		delete(got, name)
	}
	for _, name := range goldenByContent[id] {
		if diff := cmp.Diff(parquetContent(t, filepath.Join(dir, "prepared", name)), parquetContent(t, filepath.Join(out, name))); diff != "" {
			t.Errorf("content of %s (-want +got):\n%s", name, diff)
		}
		got[name] = want[name]
	}
	for name, w := range want {
		if w.Members != nil {
			w.MD5 = ""
			want[name] = w
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prepared files (-want +got):\n%s", diff)
	}
	goldenGrades(t, id, dir, filepath.Join(out, filepath.FromSlash(def.Layout.Answers)))
}

// parquetContent returns the digest of what a Parquet file holds.
func parquetContent(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := table.ParquetContent(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return sum
}

// expectedGrade is what expected.json says about a submission.
type expectedGrade struct {
	Status string `json:"status"`
	Score  any    `json:"score"`
}

// goldenGrades grades a case's submissions against the answers that were just
// prepared. The reference's "invalid" and "error" both mean that there is no
// score.
func goldenGrades(t *testing.T, id, dir, answers string) {
	var expected map[string]expectedGrade
	readJSON(t, filepath.Join(dir, "expected.json"), &expected)
	if len(expected) < 10 {
		t.Fatalf("%d submissions", len(expected))
	}
	want, got := map[string]any{}, map[string]any{}
	for name, e := range expected {
		want[name] = e.Score
		if right, ok := goldenScores[id][name]; ok {
			want[name] = right
		}
		report, err := grading.Grade(context.Background(), shipped(t, id), metric.All(), grading.Request{
			Submission: filepath.Join(dir, "submissions", name), Answers: answers, Params: goldentest.Params(t, id),
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if report.SubmissionExists && report.ValidSubmission != (e.Status == "ok") {
			t.Errorf("%s: valid %v, the reference says %q (reason: %s)", name, report.ValidSubmission, e.Status, report.Reason)
		}
		got[name] = scoreOf(t, report)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// scoreOf returns a report's score as JSON says it: a number, a text or nil.
func scoreOf(t *testing.T, report grading.Report) (score any) {
	t.Helper()
	data, err := json.Marshal(report.Score)
	if err == nil {
		err = json.Unmarshal(data, &score)
	}
	if err != nil {
		t.Fatal(err)
	}
	return score
}

// describeFile returns the sum of a file, or of the members of an archive
// where that is what is wanted.
func describeFile(t *testing.T, path string, want preparedFile) preparedFile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case want.Members == nil:
		return preparedFile{MD5: sumOf(data)}
	case want.MD5 == sumOf(data):
		return preparedFile{Members: want.Members} // a copy, byte for byte
	}
	members := map[string]*memberSum{}
	src := archive.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	err = archive.Walk(context.Background(), src, archive.Sniff(data), archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		if e.Folder {
			members[e.Name+"/"] = nil
			return nil
		}
		content, err := io.ReadAll(r)
		sum := memberSum(sumOf(content))
		if w := want.Members[e.Name]; w != nil && len(*w) != len(sum) {
			sum = memberSum(strconv.FormatUint(uint64(crc32.ChecksumIEEE(content)), 10))
		}
		members[e.Name] = &sum
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return preparedFile{Members: members}
}

func sumOf(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

func readJSON(t *testing.T, path string, out any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
}

// TestErrataPrepare prepares the later versions of the golden cases: just these
// files differ from v1's, and a version without others keeps its pins.
func TestErrataPrepare(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for id, want := range map[string][]string{
		"3d-object-detection-for-autonomous-vehicles": {"public/train_data/map.json"},
		"cassava-leaf-disease-classification":         {"public/test_tfrecords/ld_test00-10.tfrec", "public/test_tfrecords/ld_test01-10.tfrec"},
		"champs-scalar-coupling": {
			"public/structures.csv", "public/structures/dsgdb9nsd_016947.xyz", "public/structures/dsgdb9nsd_054812.xyz",
			"public/structures/dsgdb9nsd_082035.xyz", "public/structures/dsgdb9nsd_084231.xyz", "public/structures/dsgdb9nsd_088966.xyz",
		},
		"google-quest-challenge":                        {"private/test.csv", "public/sample_submission.csv", "public/test.csv", "public/train.csv"},
		"h-and-m-personalized-fashion-recommendations":  {"private/answers.csv", "public/transactions_train.csv"},
		"hms-harmful-brain-activity-classification":     {"private/gold_submission.csv", "private/test.csv", "public/sample_submission.csv", "public/test.csv"},
		"hubmap-kidney-segmentation":                    {"public/test/0486052bb.json", "public/test/095bf7a1f.json", "public/test/8242609fa.json"},
		"inaturalist-2019-fgvc6":                        {"public/train_val2019.tar.gz"},
		"random-acts-of-pizza":                          {"public/test.json", "public/test.zip", "public/train.json", "public/train.zip"},
		"ranzcr-clip-catheter-line-classification":      {"public/sample_submission.csv"},
		"siim-isic-melanoma-classification":             {"public/tfrecords/test00-2071.tfrec", "public/tfrecords/test01-2071.tfrec"},
		"osic-pulmonary-fibrosis-progression":           nil,
		"tabular-playground-series-may-2022":            nil,
		"tgs-salt-identification-challenge":             {"public/depths.csv"},
		"vinbigdata-chest-xray-abnormalities-detection": nil,
	} {
		dir := goldentest.Unpack(t, id)
		v1 := shipped(t, id)
		v2, err := v1.At("v2")
		if err != nil {
			t.Fatal(err)
		}
		o := prep.Options{Raw: os.DirFS(filepath.Join(dir, "raw")), Params: goldentest.Params(t, id)}
		was, is := allSums(t, prepare(t, v1, o)), allSums(t, prepare(t, v2, o))
		var got []string
		for name := range was {
			if was[name] != is[name] {
				got = append(got, name)
			}
		}
		for name := range is {
			if was[name] == "" {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: files that v2 changes (-want +got):\n%s", id, diff)
		}
		if kept := len(v2.Checksums.Pinned()) > 0; kept != (len(want) == 0) {
			t.Errorf("%s: v2 has pins: %v", id, kept)
		}
	}
}

// allSums returns the sum of every file of a folder.
func allSums(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			sums[name] = fileSum(t, filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}
