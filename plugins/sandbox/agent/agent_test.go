package agent

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newTask makes the folders of a task with the given public files.
func newTask(t *testing.T, seed uint64, files map[string]string) Task {
	t.Helper()
	root := t.TempDir()
	task := Task{Seed: seed, Log: &bytes.Buffer{}}
	for name, dst := range map[string]*string{"data": &task.DataDir, "submission": &task.SubmissionDir, "code": &task.CodeDir, "logs": &task.LogsDir} {
		*dst = filepath.Join(root, name)
		if err := os.Mkdir(*dst, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(task.DataDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return task
}

func submission(t *testing.T, task Task) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(task.SubmissionDir, SubmissionFile))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		rows = append(rows, strings.Split(strings.TrimSpace(line), ","))
	}
	return rows
}

// rings is a competition that no line solves: which of three rings around the
// origin a point is in, with a text column that says a little and a column of
// gaps.
type rings struct {
	train, test strings.Builder
	truth       []int
}

func newRings(trainRows, testRows int) *rings {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &rings{}
	r.train.WriteString("id,x,y,colour,gap,note,ring\n")
	r.test.WriteString("id,x,y,colour,gap,note\n")
	for i := range trainRows + testRows {
		ring := rng.IntN(3)
		radius, angle := float64(ring)+0.3+1.05*rng.Float64(), 2*math.Pi*rng.Float64()
		gap := ""
		if rng.IntN(2) == 0 {
			gap = strconv.Itoa(rng.IntN(9))
		}
		row := fmt.Sprintf("%d,%.4f,%.4f,%s,%s,free text number %d", i, radius*math.Cos(angle), radius*math.Sin(angle), []string{"red", "blue"}[rng.IntN(2)], gap, i)
		if i < trainRows {
			fmt.Fprintf(&r.train, "%s,%d\n", row, ring)
			continue
		}
		fmt.Fprintln(&r.test, row)
		r.truth = append(r.truth, ring)
	}
	return r
}

// files gives the competition with a sample submission of the given header
// and cells after the id; rows come in descending order of id.
func (r *rings) files(header, cells string) map[string]string {
	first := strings.Count(r.train.String(), "\n") - 1
	var sample strings.Builder
	sample.WriteString(header + "\n")
	for i := len(r.truth) - 1; i >= 0; i-- {
		fmt.Fprintf(&sample, "%d,%s\n", first+i, cells)
	}
	return map[string]string{"train.csv": r.train.String(), "test.csv": r.test.String(), "sampleSubmission.csv": sample.String()}
}

func TestBaselineLabels(t *testing.T) {
	r := newRings(1500, 300)
	var previous [][]string
	for _, seed := range []uint64{0, 0, 1} {
		task := newTask(t, seed, r.files("id,ring", "0"))
		if err := solveBaseline(task); err != nil {
			t.Fatal(err)
		}
		rows := submission(t, task)
		right := 0
		for i, truth := range r.truth {
			if rows[len(r.truth)-i][1] == strconv.Itoa(truth) {
				right++
			}
		}
		if accuracy := float64(right) / float64(len(r.truth)); accuracy < 0.88 {
			t.Errorf("seed %d: accuracy %.3f, want at least 0.88\n%s", seed, accuracy, task.Log)
		}
		if same := cmp.Equal(rows, previous); previous != nil && same != (seed == 0) {
			t.Errorf("seed %d: the submission equals that of seed 0: %v", seed, same)
		}
		previous = rows
	}
}

func TestBaselineSpread(t *testing.T) {
	r := newRings(800, 100)
	// The class columns are in another order than the classes.
	task := newTask(t, 3, r.files("id,2,0,1", "0.3,0.3,0.4"))
	if err := solveBaseline(task); err != nil {
		t.Fatal(err)
	}
	rows := submission(t, task)
	if diff := cmp.Diff([]string{"id", "2", "0", "1"}, rows[0]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	column := map[int]int{2: 1, 0: 2, 1: 3}
	loss := 0.0
	for i, truth := range r.truth {
		row := rows[len(r.truth)-i]
		sum := 0.0
		for _, cell := range row[1:] {
			p, _ := strconv.ParseFloat(cell, 64)
			sum += p
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Fatalf("row %v: probabilities add up to %v", row, sum)
		}
		p, _ := strconv.ParseFloat(row[column[truth]], 64)
		loss -= math.Log(p) / float64(len(r.truth))
	}
	if loss > 0.4 {
		t.Errorf("log loss %.3f, want at most 0.4 (chance is 1.1)", loss)
	}
}

func TestBaselineNumbersAndChances(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var train, test, sample strings.Builder
	train.WriteString("key,a,b,price,sold\n")
	test.WriteString("key,a,b\n")
	sample.WriteString("key,price,sold\n")
	var prices, odds []float64
	for i := range 1200 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		price, chance := 1000+200*a-100*b*b, 1/(1+math.Exp(-3*a))
		if i < 1000 {
			fmt.Fprintf(&train, "k%d,%.4f,%.4f,%.2f,%t\n", i, a, b, price, rng.Float64() < chance)
			continue
		}
		fmt.Fprintf(&test, "k%d,%.4f,%.4f\n", i, a, b)
		fmt.Fprintf(&sample, "k%d,0,0.5\n", i)
		prices, odds = append(prices, price), append(odds, chance)
	}
	task := newTask(t, 0, map[string]string{"train.csv": train.String(), "test.csv": test.String(), "sample_submission.csv": sample.String()})
	if err := solveBaseline(task); err != nil {
		t.Fatal(err)
	}
	var priceError, chanceError float64
	for i, row := range submission(t, task)[1:] {
		price, _ := strconv.ParseFloat(row[1], 64)
		chance, _ := strconv.ParseFloat(row[2], 64)
		priceError += math.Abs(price-prices[i]) / float64(len(prices))
		chanceError += math.Abs(chance-odds[i]) / float64(len(odds))
	}
	// The mean alone has an error of about 180, a coin one of about 0.35.
	if priceError > 40 || chanceError > 0.12 {
		t.Errorf("mean error of numbers %.1f, of probabilities %.3f", priceError, chanceError)
	}
}

// TestBaselineWithoutModel: what cannot be learnt is answered with the sample, and
// the log says why; without a sample there is nothing to answer with.
func TestBaselineWithoutModel(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no sample", map[string]string{"train.csv": "a\n1\n"}, "find sample submission"},
		{"no train", map[string]string{"sample_submission.csv": "id,y\n1,0\n"}, "train.csv"},
		{"empty test", map[string]string{"train.csv": "id,x,y\n1,2,3\n", "test.csv": "id,x\n", "sample_submission.csv": "id,y\n1,0\n"}, "test.csv: it has no rows"},
		{"nothing asked", map[string]string{"train.csv": "id,x\n1,2\n", "test.csv": "id,x\n1,2\n", "sample_submission.csv": "id\n1\n"}, "no column that is missing in test.csv"},
		{"unknown target", map[string]string{"train.csv": "id,x,y\n1,2,3\n", "test.csv": "id,x\n1,2\n", "sample_submission.csv": "id,z\n1,0\n"}, `column "z"`},
		{"only ids", map[string]string{"train.csv": "id,y\n1,3\n", "test.csv": "id\n1\n", "sample_submission.csv": "id,y\n1,0\n"}, "no columns to learn from"},
		{"only text", map[string]string{"train.csv": "id,x,y\n1,one,3.5\n2,one,4.5\n", "test.csv": "id,x\n1,2\n", "sample_submission.csv": "id,y\n1,0\n"}, "no column of"},
		{"ragged", map[string]string{"train.csv": "id,x,y\n1,2\n", "test.csv": "id,x\n1,2\n", "sample_submission.csv": "id,y\n1,0\n"}, "wrong number of fields"},
		{"other rows", map[string]string{"train.csv": "id,x,y\n1,2,3.5\n2,3,4.5\n", "test.csv": "id,x\n1,2\n2,3\n", "sample_submission.csv": "id,y\n7,0\n"}, "there is no id to match them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			task := newTask(t, 0, tt.files)
			task.Log = &log
			err := solveBaseline(task)
			if !strings.Contains(log.String(), tt.want) {
				t.Errorf("the log has no %q:\n%s", tt.want, log.String())
			}
			sample, given := tt.files["sample_submission.csv"]
			if (err == nil) != given {
				t.Errorf("got error %v, sample given: %v", err, given)
			}
			if got, _ := os.ReadFile(filepath.Join(task.SubmissionDir, SubmissionFile)); string(got) != sample {
				t.Errorf("submitted %q, want the sample, %q", got, sample)
			}
		})
	}
}

func TestDummy(t *testing.T) {
	text := "id,y\n1,0\n"
	for name, files := range map[string]map[string]string{
		"plain":  {"sampleSubmission.csv": text, "sampleSubmission_old.csv": "other", "sample_submission.csv.zip": packed("sample_submission.csv", "other")},
		"packed": {"en_sample_submission_2.csv.zip": packed("en_sample_submission_2.csv", text), "train.csv.zip": "no archive"},
	} {
		task := newTask(t, 0, files)
		if err := submitSample(task); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data, err := os.ReadFile(filepath.Join(task.SubmissionDir, SubmissionFile))
		if err != nil || string(data) != text {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
	named := newTask(t, 0, map[string]string{"random.csv": text, "sample_submission.csv": "other"})
	named.Sample = "random.csv"
	if err := submitSample(named); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(named.SubmissionDir, SubmissionFile)); err != nil || string(data) != text {
		t.Errorf("named: got %q, %v", data, err)
	}
	for name, data := range map[string]string{"damaged": "no archive", "empty": packed("readme.txt", text)} {
		if err := submitSample(newTask(t, 0, map[string]string{"sample_submission.csv.zip": data})); err == nil || !strings.Contains(err.Error(), "sample_submission.csv.zip") {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

// packed is a zip archive of one file.
func packed(name, text string) string {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, _ := w.Create(name)
	f.Write([]byte(text))
	w.Close()
	return buf.String()
}

// TestGradient compares backward with differences of the loss.
func TestGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, l := range []*lesson{{outputs: 3, classes: true, class: []int{1}}, {outputs: 1, number: []float64{0.7}}} {
		net := newNetwork(4, 5, l.outputs, rng)
		x := []float64{0.5, -1, 2, 0.1}
		y, back, grad := make([]float64, l.outputs), make([]float64, 5), make([]float64, len(net.weights))
		net.forward(x, y)
		l.loss(0, y)
		net.backward(x, y, grad, back)
		lossAt := func(i int, w float64) float64 {
			old := net.weights[i]
			net.weights[i] = w
			defer func() { net.weights[i] = old }()
			net.forward(x, y)
			return l.loss(0, y)
		}
		for i, g := range grad {
			const h = 1e-6
			want := (lossAt(i, net.weights[i]+h) - lossAt(i, net.weights[i]-h)) / (2 * h)
			if math.Abs(g-want) > 1e-5 {
				t.Errorf("%d outputs, weight %d: gradient %v, differences say %v", l.outputs, i, g, want)
			}
		}
	}
}

func TestReservoir(t *testing.T) {
	var text strings.Builder
	text.WriteString("n\n")
	for i := range 1000 {
		fmt.Fprintln(&text, i)
	}
	task := newTask(t, 0, map[string]string{"n.csv": text.String()})
	f, err := readFrame(task.DataDir, "n.csv", 100, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, v := range f.col("n") {
		n, _ := strconv.Atoi(v)
		sum += n
	}
	if mean := float64(sum) / 100; f.rows() != 100 || mean < 400 || mean > 600 {
		t.Errorf("%d rows with mean %v, want 100 with about 500", f.rows(), mean)
	}
}

func TestTaskFromEnvironment(t *testing.T) {
	env := map[string]string{"DATA_DIR": "/d", "SUBMISSION_DIR": "/s", "CODE_DIR": "/c", "LOGS_DIR": "/l", "MLEFLOW_SEED": "-3"}
	getenv := func(name string) string { return env[name] }
	task, err := taskFrom(getenv)
	want := Task{DataDir: "/d", SubmissionDir: "/s", CodeDir: "/c", LogsDir: "/l", Seed: 1<<64 - 3}
	if diff := cmp.Diff(want, task); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	env["MLEFLOW_SEED"] = "x"
	if _, err := taskFrom(getenv); err == nil {
		t.Error("a seed that is no number is taken")
	}
	delete(env, "CODE_DIR")
	if _, err := taskFrom(getenv); err == nil || !strings.Contains(err.Error(), "CODE_DIR") {
		t.Errorf("got %v, want an error that names CODE_DIR", err)
	}
	for _, args := range [][]string{{}, {"nobody"}, {"dummy", "extra"}} {
		if got := Main(args); got != 2 {
			t.Errorf("Main(%q): status %d, want 2", args, got)
		}
	}
}

func TestAll(t *testing.T) {
	names := Names()
	for i, a := range all().List() {
		if a.Name == "" || a.Version == "" || a.Doc == "" || a.Solve == nil {
			t.Errorf("agent %q is incomplete", a.Name)
		}
		if i > 0 && names[i-1] >= a.Name {
			t.Errorf("agents are not sorted: %v", names)
		}
	}
}
