package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// TestExercises draws each exercise, prepares it by the competition's definition, and
// sees that its model beats the sample submission.
func TestExercises(t *testing.T) {
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"demo-cancer": true, "demo-digits": true} // their data ship
	for _, e := range exercises() {
		if seen[e.id] {
			t.Fatalf("there are two exercises %s", e.id)
		}
		seen[e.id] = true
		t.Run(e.id, func(t *testing.T) {
			t.Parallel()
			def, err := cat.Get(e.id)
			if err != nil {
				t.Fatal(err)
			}
			testExercise(t, def.Rehearsed(), e)
		})
	}
	for _, id := range cat.IDs() {
		if !seen[id] {
			t.Errorf("%s has no exercise", id)
		}
	}
}

// formats are those that a file writes.
var formats = []string{"aiff", "bmp", "bson", "dicom", "jpeg", "matlab", "mp4", "nifti", "npy", "parquet", "png", "tfrecord", "tiff", "wav"}

// TestFileNames refuses a file that is named by something else than what is in it: one
// competition, one format, or a part of the program.
func TestFileNames(t *testing.T) {
	want := []string{"doc.go", "exercise.go", "lesson.go", "main.go", "make_test.go", "model.go", "set.go"}
	for _, e := range exercises() {
		want = append(want, "exercise_"+e.id+".go")
	}
	for _, f := range formats {
		want = append(want, "format_"+f+".go")
	}
	slices.Sort(want)
	got, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of competitions and formats, and what is here (+):\n%s", diff)
	}
}

func testExercise(t *testing.T, def *competitions.Definition, e exercise) {
	drawn := newSet(e)
	packed := drawn.packed(archive.TarZstd)
	if len(packed) > 300_000 {
		t.Errorf("the set has %d bytes when packed, more than 300,000", len(packed))
	}
	if again := newSet(e).packed(archive.TarZstd); !bytes.Equal(packed, again) {
		t.Error("two draws differ")
	}
	if shipped, err := fs.ReadFile(def.Folder(), competitions.RehearsalName); err != nil || !bytes.Equal(shipped, packed) {
		t.Errorf("the set that ships is another one; make rehearsal writes it (%v)", err)
	}
	raw := fstest.MapFS{}
	for name, data := range drawn.files {
		raw[name] = &fstest.MapFile{Data: data}
	}
	prepared := filepath.Join(t.TempDir(), "prepared")
	out, err := prep.NewFolder(prepared)
	if err != nil {
		t.Fatal(err)
	}
	if err := prep.Run(t.Context(), def, prep.Options{Raw: raw, Out: out, Work: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if err := out.Publish(); err != nil {
		t.Fatal(err)
	}
	l := &lesson{public: os.DirFS(filepath.Join(prepared, "public"))}
	e.learn(l)
	learnt := filepath.Join(t.TempDir(), "submission"+filepath.Ext(def.Layout.Sample))
	if err := os.WriteFile(learnt, l.submission, 0o600); err != nil {
		t.Fatal(err)
	}
	sample := score(t, def, prepared, filepath.Join(prepared, filepath.FromSlash(def.Layout.Sample)))
	got := score(t, def, prepared, learnt)
	t.Logf("%d bytes; sample %s, learnt %s", len(packed), written(sample), written(got))
	if got.Score == nil {
		t.Fatalf("the model's submission has no score: %s", got.Reason)
	}
	toBeat := e.chance
	if sample.Score != nil && !math.IsNaN(float64(*sample.Score)) {
		toBeat = float64(*sample.Score)
	}
	better := float64(*got.Score) > toBeat
	if got.LowerIsBetter {
		better = float64(*got.Score) < toBeat
	}
	if !better {
		t.Errorf("the model's score %s does not beat %v", written(got), toBeat)
	}
}

func score(t *testing.T, def *competitions.Definition, prepared, submission string) grading.Report {
	t.Helper()
	report, err := grading.Grade(context.Background(), def, metric.All(), grading.Request{
		Submission: submission, Answers: filepath.Join(prepared, filepath.FromSlash(def.Layout.Answers)), Created: time.Unix(0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func written(r grading.Report) string {
	if r.Score == nil {
		return "none (" + r.Reason + ")"
	}
	return fmt.Sprint(float64(*r.Score))
}
