package metric

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// TestCOCOCorners compares with pycocotools used as it is meant to be; the
// cases are made by testdata/coco.py.
func TestCOCOCorners(t *testing.T) {
	data, err := os.ReadFile("testdata/coco.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		MadeWith string `json:"made_with"`
		Cases    []struct {
			Overlap      float64
			Truth, Found [][][]float64
			Edits        [][4]any // picture, detection, place, number
			Score        string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 20 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for i, c := range file.Cases {
		want, err := strconv.ParseFloat(c.Score, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Edits {
			if c.Found[int(e[0].(float64))][int(e[1].(float64))][int(e[2].(float64))], err = strconv.ParseFloat(e[3].(string), 64); err != nil {
				t.Fatal(err)
			}
		}
		scorer, err := All().Build("coco_ap", Args{"overlap": c.Overlap, "corners": true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := scorer.Score(Input{Truth: cocoAnswers(t, c.Truth), Prediction: cocoSubmission(t, c.Found), ID: "id", Targets: []string{"boxes"}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Value != want {
			t.Errorf("case %d: got %v, %s says %v", i, got.Value, file.MadeWith, want)
		}
	}
}

func cocoAnswers(t *testing.T, truth [][][]float64) *table.Table {
	t.Helper()
	var ids []string
	var classes []int64
	sides := make([][]float64, 4)
	for i, boxes := range truth {
		for _, b := range boxes {
			ids, classes = append(ids, fmt.Sprint(i)), append(classes, int64(b[0]))
			for k := range sides {
				sides[k] = append(sides[k], b[1+k])
			}
		}
	}
	columns := []*table.Column{table.FromTexts("id", ids, nil), table.FromInts("class_id", classes)}
	for k, name := range []string{"x_min", "y_min", "x_max", "y_max"} {
		columns = append(columns, table.FromFloats(name, sides[k]))
	}
	out, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func cocoSubmission(t *testing.T, found [][][]float64) *table.Table {
	t.Helper()
	var ids, lists []string
	for i, boxes := range found {
		for _, b := range boxes {
			words := make([]string, len(b))
			for k, v := range b {
				words[k] = strconv.FormatFloat(v, 'g', -1, 64)
			}
			ids, lists = append(ids, fmt.Sprint(i)), append(lists, strings.Join(words, " "))
		}
	}
	out, err := table.New(table.FromTexts("id", ids, nil), table.FromTexts("boxes", lists, nil))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
