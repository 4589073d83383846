package main

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
)

// validationPage returns the page on the held-out data of each competition.
func validationPage(catalog *competitions.Catalog) ([]byte, error) {
	all, err := catalog.List(competitions.Filter{})
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, def := range all {
		split := prep.SplitOf(def.Holdout())
		rows = append(rows, []string{code(def.ID), split.Kind, heldOut(split.Share), def.Validation.Note})
	}
	p := newPage("Held-out validation data")
	p.text(`A step of kind ` + "`holdout`" + ` splits a competition's public data once more, so that an agent can ask for the score of predictions without the answers of the test. The competition's own prepare block runs on its own public files. So the split is of the same kind as that of the test: at random, by groups, in each class, or by time.`)
	p.heading(2, "What an agent gets")
	p.terms([][]string{
		{"`public`", "The public files, without the held-out rows and their files. Training files are those of the second preparation, and may be numbered otherwise. The test inputs are unchanged."},
		{"`inputs`", "The held-out inputs with their sample submission, in the layout of the public files. Only files that are not the same in `public` are there: pictures in a folder of both parts stay in `public`."},
		{"`private`", "The labels, in the layout of the competition's private files, for the grader. Agents never get them."},
		{"`split`", "The kind of split, the held-out rows, by how much the training data became smaller, and notes."},
	})
	p.text("Which files are training data is decided by the patterns of the block `validation`, else by the words train and test in the path, else by the part of the split that the expressions of an output use. A file of neither part, such as a list of classes, stays.")
	p.text("The step runs the [lint's rules](checks.md) on what the agent would get. Held-out labels in a table, in TensorFlow records or in a file with the bytes of a private one fail the step. Held-out rows and files that are also in the training data, and columns that say something about labels, are notes of `split` and of the log.")
	p.heading(2, "The block validation")
	p.text("A definition needs it where its public files lack what the raw data had:")
	p.code("hcl", `validation {
  kind     = "time"                      # with share and note, for the table below
  training = ["depths.csv"]              # files with training data; test = […] for the others
  extract  = { "train.zip" = "train" }   # in place of that of the prepare block
  locals {                               # each replaces the local of that name
    parts = train_test_split(csv("labels.csv"), { test_size = 0.1, random_state = 0 })
  }
  # prepare { … } replaces the whole block
}`)
	p.text("An archive of `extract` that is not there has been unpacked already, and is left out.")
	p.heading(2, "The competitions")
	p.textf("The %d competitions that ship with the program. The tests of the step split the rehearsal data of all 82 of MLE-bench, and their golden cases but one, multi-modal-gesture-recognition, whose miniature archives cannot be opened.", len(all))
	p.table([]string{"Competition", "Split", "Held out", "Note"}, rows)
	return p.bytes(), nil
}

// heldOut spells the size of a test part.
func heldOut(share string) string {
	switch f, err := strconv.ParseFloat(share, 64); {
	case err != nil:
		return cmp.Or(share, "as the test")
	case f < 1:
		return fmt.Sprintf("%.3g %%", float64(100*f))
	default:
		return strconv.FormatFloat(f, 'f', -1, 64) + " rows"
	}
}
