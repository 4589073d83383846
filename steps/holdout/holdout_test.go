package holdout_test

import (
	"bytes"
	"encoding/csv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
	"github.com/mleflow/mleflow/steps/holdout"
	"github.com/mleflow/mleflow/steps/prepare"
	"github.com/mleflow/mleflow/steps/steptest"
)

// unscored are the data whose held-out sample submission has no score, with the reason.
// All but the first are too small.
var unscored = map[string]string{
	"us-patent-phrase-to-phrase-matching":                      "the correlation of constant predictions is not defined",
	"rehearsal ranzcr-clip-catheter-line-classification":       "some label has one class among the held-out rows",
	"golden plant-pathology-2020-fgvc7":                        "some label has one class among the held-out rows",
	"golden jigsaw-toxic-comment-classification-challenge":     "a training label is missing",
	"golden jigsaw-unintended-bias-in-toxicity-classification": "the held-out rows have one class",
	"golden new-york-city-taxi-fare-prediction":                "a held-out fare is missing",
	"golden osic-pulmonary-fibrosis-progression":               "a held-out patient has two rows of a week",
}

// unsplit are the data that cannot be split once more, with the reason.
var unsplit = map[string]string{
	"golden multi-modal-gesture-recognition": "the members of its archives are no archives",
}

// TestRehearsals splits the data of every rehearsal once more.
func TestRehearsals(t *testing.T) {
	cat := shipped(t)
	for _, id := range ids(t) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := cat.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			packed, err := fs.ReadFile(def.Folder(), competitions.RehearsalName)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			src := archive.Source{ReaderAt: bytes.NewReader(packed), Size: int64(len(packed))}
			if err := archive.Unpack(t.Context(), src, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
				t.Fatal(err)
			}
			split(t, cat, def.Rehearsed(), dir, nil, conditions.Data+"="+conditions.Rehearsal)
		})
	}
}

// TestGolden splits the golden cases once more.
func TestGolden(t *testing.T) {
	cat := shipped(t)
	for _, id := range ids(t) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := cat.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			split(t, cat, def, filepath.Join(goldentest.Unpack(t, id), "raw"), goldentest.Params(t, id))
		})
	}
}

// ids returns the shipped competitions; with -short every tenth.
func ids(t *testing.T) []string {
	all := goldentest.IDs(t)
	if !testing.Short() {
		return all
	}
	var some []string
	for i := 0; i < len(all); i += 10 {
		some = append(some, all[i])
	}
	return some
}

func shipped(t *testing.T) *competitions.Catalog {
	t.Helper()
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// split prepares raw data, splits the public files once more and looks at the outputs.
func split(t *testing.T, cat *competitions.Catalog, def *competitions.Definition, raw string, params map[string]cty.Value, under ...string) {
	b := steptest.New(prepare.Kind(prepare.Deps{Catalog: cat}))
	ref, err := tree.Import(t.Context(), b.Store, raw, tree.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]cty.Value{"competition": cty.StringVal(def.ID), "raw": steptest.Under(steptest.Artifact(ref), under...)}
	if len(params) > 0 {
		args["params"] = cty.MapVal(params)
	}
	prepared, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	delete(args, "raw")
	args["data"] = steptest.Under(steptest.Artifact(prepared["public"].Ref), under...)
	kind := holdout.Kind(cat)
	b.Kind = &kind
	out, err := b.Run(t, args)
	data := "golden " + def.ID
	if len(under) > 0 {
		data = "rehearsal " + def.ID
	}
	if why := unsplit[data]; why != "" {
		if err == nil {
			t.Errorf("it can be split: %s", why)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var made holdout.Split
	steptest.Decode(t, out["split"], &made)
	t.Logf("%+v", made)
	given, public, inputs, private := b.Files(t, prepared["public"].Ref), b.Files(t, out["public"].Ref), b.Files(t, out["inputs"].Ref), b.Files(t, out["private"].Ref)
	sides, diags := prep.SidesOf(def, params)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for name, text := range given {
		if !sides.Training(name) && public[name] != text {
			t.Errorf("%s is not training data and was changed", name)
		}
	}
	// A missing label makes integers fractions, which are longer.
	noShare := data == "golden jigsaw-toxic-comment-classification-challenge"
	if made.Rows == 0 || made.Share <= 0 && !noShare || made.Share >= 1 || len(inputs) == 0 {
		t.Errorf("split %+v with %d inputs", made, len(inputs))
	}
	gradeSample(t, def.Holdout(), data, out, b, params)
	canary(t, def, public, inputs, private)
}

// gradeSample sees that the held-out sample submission has a score.
func gradeSample(t *testing.T, def *competitions.Definition, data string, out cache.Outputs, b *steptest.Bench, params map[string]cty.Value) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string {
		side, file, _ := strings.Cut(name, "/")
		from := out["private"].Ref
		if side == "public" {
			from = out["inputs"].Ref
		}
		e, err := tree.Find(t.Context(), b.Store, from, file)
		if err != nil {
			t.Fatalf("find %s: %v", name, err)
		}
		path := filepath.Join(dir, side+"-"+filepath.Base(file))
		if err := os.WriteFile(path, []byte(b.Text(t, e.Ref())), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	report, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{
		Submission: at(def.Layout.Sample), Answers: at(def.Layout.Answers), Params: params, Created: time.Unix(0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	if (report.Score == nil || math.IsNaN(float64(*report.Score))) && unscored[def.ID] == "" && unscored[data] == "" {
		t.Errorf("the sample submission has no score: %v", report.Reason)
	}
}

// rows returns the records of a CSV file, or the lines of another file.
func rows(name, text string) (out []string) {
	if strings.HasSuffix(name, ".csv") {
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord, r.LazyQuotes = -1, true
		if all, err := r.ReadAll(); err == nil {
			for _, record := range all {
				out = append(out, strings.Join(record, ","))
			}
			return out
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// canary looks for the rows of the private files in what an agent gets: as rows of files
// and of members of archives.
func canary(t *testing.T, def *competitions.Definition, public, inputs, private map[string]string) {
	t.Helper()
	secret := map[string]bool{}
	for name, text := range private {
		if "private/"+name == def.Layout.Sample {
			continue
		}
		for i, row := range rows(name, text) {
			if i > 0 && len(row) > 3 {
				secret[row] = true
			}
		}
	}
	found := map[string]int{}
	for half, files := range map[string]map[string]string{"public": public, "inputs": inputs} {
		for name, text := range files {
			if strings.Contains(strings.ToLower(strings.ReplaceAll(name, "_", "")), "samplesubmission") || "public/"+name == def.Layout.Sample {
				continue
			}
			eachText(t, name, text, func(name, text string) {
				for _, row := range rows(name, text) {
					if secret[row] {
						found[half+"/"+name+": "+row]++
					}
				}
			})
		}
	}
	if len(found) > 0 {
		var some []string
		for line := range found {
			if some = append(some, line); len(some) == 3 {
				break
			}
		}
		t.Errorf("%d of %d private rows are where agents can read them: %q", len(found), len(secret), some)
	}
}

// eachText calls do with a file and with the members of an archive.
func eachText(t *testing.T, name, text string, do func(name, text string)) {
	do(name, text)
	src := archive.Source{ReaderAt: strings.NewReader(text), Size: int64(len(text))}
	format, err := archive.FormatIn(src, name)
	if err != nil || format == "" {
		return
	}
	dir := t.TempDir()
	if archive.Unpack(t.Context(), src, format, archive.DefaultLimits(), dir) != nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			do(name+"!"+e.Name(), string(data))
		}
		return nil
	})
}
