package prep_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/competitions/prep"
)

// speechClips are clips of 40 speakers, who say ten words each; a clip holds
// its speaker and label.
func speechClips() fstest.MapFS {
	raw := fstest.MapFS{}
	words := []string{"yes", "no", "bed", "up", "cat", "go", "stop", "zero", "on", "left"}
	for i, word := range words {
		for k := range 40 {
			raw[fmt.Sprintf("train.7z/train/audio/%s/%08x_nohash_%d.wav", word, k*7919, i%3)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%08x %s", k*7919, word)}
		}
	}
	for _, noise := range []string{"pink_noise", "running_tap", "white_noise"} {
		raw["train.7z/train/audio/_background_noise_/"+noise+".wav"] = &fstest.MapFile{Data: []byte(noise + " silence")}
	}
	return raw
}

// TestSpeechErrata asks of the second version of the speech competition that no
// speaker is heard in both parts, that the test's labels are the task's, and
// that the order of the clips does not tell them.
func TestSpeechErrata(t *testing.T) {
	for version, mended := range map[string]bool{"v1": false, "v2": true} {
		def, err := shipped(t, "tensorflow-speech-recognition-challenge").At(version)
		if err != nil {
			t.Fatal(err)
		}
		out := prepare(t, def, prep.Options{Raw: speechClips()})
		trained := map[string]bool{} // the training's speakers
		clips, _ := filepath.Glob(filepath.Join(out, "public/train/audio/*/*.wav"))
		for _, clip := range clips {
			speaker, _, _ := strings.Cut(filepath.Base(clip), "_nohash_")
			trained[speaker] = true
		}
		rows := strings.Fields(readText(t, filepath.Join(out, "private/test.csv")))[1:]
		if len(rows) < 20 || len(clips)+len(rows) != len(speechClips()) {
			t.Errorf("%s: %d training and %d test clips", version, len(clips), len(rows))
		}
		var shared, folded int
		var labels []string
		for _, row := range rows {
			name, label, _ := strings.Cut(row, ",")
			speaker, word, _ := strings.Cut(readText(t, filepath.Join(out, "public/test/audio", name)), " ")
			if trained[speaker] {
				shared++
			}
			if label == word || label == "unknown" && slices.Contains([]string{"bed", "cat", "zero"}, word) {
				folded++
			}
			labels = append(labels, label)
		}
		if mended != (shared == 0) || mended != (folded == len(rows) && !slices.Contains(labels, "bed")) {
			t.Errorf("%s: of %d test clips %d are of speakers of the training, %d have the task's label", version, len(rows), shared, folded)
		}
		if slices.IsSortedFunc(labels, cmp.Compare) {
			t.Errorf("%s: the test clips are sorted by label", version)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
