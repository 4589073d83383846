package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	filled := make(map[string][]string)
	for _, target := range b.problem.targets {
		fmt.Fprintf(t.Log, "target %s: a %s\n", target.column, target.form)
		lesson, err := newLesson(target, b.train.col(target.column))
		if err != nil {
			return err
		}
		net := train(x, lesson, rng, t.Log)
		predict(net, xTest, lesson, target, filled)
	}
	if err := b.submit(t, filled); err != nil {
		return err
	}
	return describe(t, b.problem, x.cols)
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
