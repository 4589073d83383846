package agent

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

var baseline = Agent{
	Name:    "baseline",
	Version: "3",
	Doc: "Trains a small neural network on train.csv and predicts test.csv. What to predict, and whether as class, probability or " +
		"number, follows from the columns of the sample submission; from text columns it uses the frequent words. If it does not understand the task, it submits the sample submission and says so.",
	Solve: solveBaseline,
}

// maxTrainRows is the maximum number of training rows.
const maxTrainRows = 200_000

// solveBaseline submits predictions of a trained model. If no model can be trained, it
// submits the sample submission, which is an attempt too.
func solveBaseline(t Task) error {
	err := learn(t)
	if err == nil {
		return nil
	}
	fmt.Fprintf(t.Log, "no model: %v\nthe sample submission is submitted instead\n", err)
	return submitSample(t)
}

func learn(t Task) error {
	rng := rand.New(rand.NewPCG(t.Seed, 0x6d6c65666c6f77)) //nolint:gosec // seeded on purpose
	b, err := loadBaseline(t, rng)
	if err != nil {
		return err
	}
	use, ignored := encoders(b.train, b.problem.features)
	x, err := encodeAll(b.train, use)
	if err != nil {
		return err
	}
	xTest, err := encodeAll(b.test, use)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Log, "%d rows to learn from, %d to predict; %d numbers a row\n", x.rows, xTest.rows, x.cols)
	if len(ignored) > 0 {
		fmt.Fprintf(t.Log, "columns not used: %s\n", strings.Join(ignored, ", "))
	}
	held, err := b.loadValidation(t, use, rng)
	if err != nil {
		return err
	}
	for i := range tries {
		filled, asked, err := b.answer(t, x, xTest, held, rng)
		if err != nil {
			return err
		}
		best := i == 0
		if held != nil {
			better, err := held.best(t, asked)
			if best = best || better; err != nil {
				fmt.Fprintf(t.Log, "no validation score: %v\n", err)
				held = nil
			}
		}
		if best {
			if err := b.submit(t, filled); err != nil {
				return err
			}
		}
		if held == nil {
			break
		}
	}
	return describe(t, b.problem, x.cols)
}

// answer trains a network for each target, and returns predictions for the test data and
// for held-out ones.
func (b *baselineData) answer(t Task, x, xTest *matrix, held *validation, rng *rand.Rand) (filled, asked map[string][]string, err error) {
	filled, asked = map[string][]string{}, map[string][]string{}
	for _, target := range b.problem.targets {
		fmt.Fprintf(t.Log, "target %s: a %s\n", target.column, target.form)
		lesson, err := newLesson(target, b.train.col(target.column))
		if err != nil {
			return nil, nil, err
		}
		net := train(x, lesson, rng, t.Log)
		predict(net, xTest, lesson, target, filled)
		if held != nil {
			predict(net, held.x, lesson, target, asked)
		}
	}
	return filled, asked, nil
}

// baselineData holds the files of the competition.
type baselineData struct {
	train, test, sample *frame
	problem             *problem
}

func loadBaseline(t Task, rng *rand.Rand) (*baselineData, error) {
	sampleName, err := t.Sample, error(nil)
	if sampleName == "" {
		sampleName, err = sampleFile(t.DataDir)
	}
	if err != nil {
		return nil, err
	}
	b := &baselineData{}
	for _, file := range []struct {
		dst  **frame
		name string
		most int
	}{{&b.train, "train.csv", maxTrainRows}, {&b.test, "test.csv", 0}, {&b.sample, sampleName, 0}} {
		if *file.dst, err = readFrame(t.DataDir, file.name, file.most, rng); err != nil {
			return nil, err
		}
		if (*file.dst).rows() == 0 {
			return nil, fmt.Errorf("read %s: it has no rows", file.name)
		}
	}
	b.problem, err = infer(b.train, b.test, b.sample)
	return b, err
}

// describe writes a description of the model to CODE_DIR.
func describe(t Task, p *problem, width int) error {
	type targetJSON struct {
		Column  string   `json:"column"`
		Form    string   `json:"form"`
		Classes []string `json:"classes,omitempty"`
	}
	model := struct {
		Model    string       `json:"model"`
		Hidden   int          `json:"hidden_units"`
		Inputs   int          `json:"inputs"`
		Seed     uint64       `json:"seed"`
		Features []string     `json:"features"`
		Targets  []targetJSON `json:"targets"`
	}{Model: "one hidden layer, Adam, early stopping", Hidden: hiddenUnits, Inputs: width, Seed: t.Seed, Features: p.features}
	for _, target := range p.targets {
		model.Targets = append(model.Targets, targetJSON{target.column, target.form.String(), target.classes})
	}
	text, err := json.MarshalIndent(model, "", "  ")
	if err != nil {
		return fmt.Errorf("describe model: %w", err)
	}
	if err := os.WriteFile(filepath.Join(t.CodeDir, "model.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("describe model: %w", err)
	}
	return nil
}

// predict fills in the submission's columns for one target, in the order of test.csv.
func predict(net *network, x *matrix, l *lesson, t target, filled map[string][]string) {
	for _, name := range t.fills {
		filled[name] = make([]string, x.rows)
	}
	y := make([]float64, net.out)
	for row := range x.rows {
		net.forward(x.row(row), y)
		if t.form == value {
			filled[t.fills[0]][row] = format(float64(y[0]*l.scale) + l.mean)
			continue
		}
		softmax(y)
		switch t.form {
		case label:
			filled[t.fills[0]][row] = t.classes[argmax(y)]
		case chance:
			filled[t.fills[0]][row] = format(y[1])
		case spread:
			for c, name := range t.fills {
				filled[name][row] = format(y[c])
			}
		}
	}
}

func argmax(y []float64) int {
	best := 0
	for i, v := range y {
		if v > y[best] {
			best = i
		}
	}
	return best
}

// format writes a number with 8 digits, which exceeds a model's precision.
func format(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

// submit writes the sample submission with the targets filled in. Rows are matched by
// id if the ids are those of test.csv, and otherwise by position.
func (b *baselineData) submit(t Task, filled map[string][]string) error {
	rowOf, err := b.matchRows()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(t.SubmissionDir, SubmissionFile))
	if err != nil {
		return fmt.Errorf("create submission: %w", err)
	}
	defer file.Close()
	w := csv.NewWriter(file)
	w.Write(b.sample.names) //nolint:errcheck // w.Error reports it
	row := make([]string, len(b.sample.names))
	for i := range b.sample.rows() {
		for c, name := range b.sample.names {
			if values := filled[name]; values != nil {
				row[c] = values[rowOf(i)]
			} else {
				row[c] = b.sample.cols[c][i]
			}
		}
		w.Write(row) //nolint:errcheck // w.Error reports it
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("write submission: %w", err)
	}
	fmt.Fprintf(t.Log, "submitted %d predictions\n", b.sample.rows())
	return file.Close()
}

// matchRows returns a function that maps a row of the sample to its row of test.csv.
func (b *baselineData) matchRows() (func(int) int, error) {
	for _, id := range b.problem.ids {
		col := b.test.col(id)
		if col == nil {
			continue
		}
		at := make(map[string]int, len(col))
		for i, v := range col {
			at[v] = i
		}
		wanted := b.sample.col(id)
		all := len(at) == len(col)
		for _, v := range wanted {
			_, ok := at[v]
			all = all && ok
		}
		if all {
			return func(i int) int { return at[wanted[i]] }, nil
		}
	}
	if b.sample.rows() != b.test.rows() {
		return nil, fmt.Errorf("match rows: %s has %d rows, %s has %d, and there is no id to match them",
			b.sample.file, b.sample.rows(), b.test.file, b.test.rows())
	}
	return func(i int) int { return i }, nil
}
