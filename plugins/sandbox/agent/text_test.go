package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrequentWords(t *testing.T) {
	col := slices.Repeat([]string{"the cat, a Dog", "the dog 7", "the bird"}, 6)
	want := map[string]int{"dog": 0, "7": 1, "a": 2, "bird": 3, "cat": 4}
	if diff := cmp.Diff(want, frequentWords(col)); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

// TestBaselineText learns which author wrote a sentence from its words alone.
func TestBaselineText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	of := [][]string{strings.Fields("ship whale sea captain mast"), strings.Fields("moor house heath storm window")}
	common := strings.Fields("and so then it was on of there")
	var train, test, sample strings.Builder
	train.WriteString("id,text,author\n")
	test.WriteString("id,text\n")
	sample.WriteString("id,author\n")
	var truth []string
	for i := range 600 {
		who := rng.IntN(2)
		var sentence []string
		for range 8 {
			list := common
			if rng.IntN(3) == 0 {
				list = of[who]
			}
			sentence = append(sentence, list[rng.IntN(len(list))])
		}
		text, author := fmt.Sprintf("%s number %d", strings.Join(sentence, " "), i), fmt.Sprintf("author%d", who)
		if i < 500 {
			fmt.Fprintf(&train, "%d,%s,%s\n", i, text, author)
			continue
		}
		fmt.Fprintf(&test, "%d,%s\n", i, text)
		fmt.Fprintf(&sample, "%d,author0\n", i)
		truth = append(truth, author)
	}
	task := newTask(t, 0, map[string]string{"train.csv": train.String(), "test.csv": test.String(), "sample_submission.csv": sample.String()})
	if err := solveBaseline(task); err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, row := range submission(t, task)[1:] {
		if row[1] == truth[i] {
			right++
		}
	}
	if right < 85 {
		t.Errorf("%d of 100 authors are right\n%s", right, task.Log)
	}
}
