package prep_test

import (
	"fmt"
	"testing"
)

// TestDrawMistakes draws what cannot be drawn.
func TestDrawMistakes(t *testing.T) {
	raw := rawFiles(map[string]string{"a.csv": "id\n1\n2\n"})
	for expr, want := range map[string]string{
		`python_sample(csv("a.csv"), 3).rows`:                                               "3 wanted of 2",
		`python_sample(csv("a.csv"), 1, { repeat = -1 }).rows`:                              "repeat = -1 is negative",
		`python_shuffle(csv("a.csv"), { random_state = "x" }).rows`:                         "option random_state: expected a seed (an integer) or the next of an earlier draw, not a string",
		`python_shuffle(csv("a.csv"), { random_state = 0.5 }).rows`:                         "expected a seed",
		`python_shuffle(csv("a.csv"), { random_state = python_shuffle([1, 2]).rows }).rows`: "not a list",
		`table({ c = python_choice(csv("a.csv"), []).rows })`:                               "the list of options is empty",
		`table({ c = python_choice(csv("a.csv"), [[]]).rows })`:                             "the list of options is empty",
		`table({ c = python_choice(csv("a.csv"), "x").rows })`:                              "expected a column or a list, not a string",
		`assign(csv("a.csv"), { t = first_fit(csv("a.csv").id, -1) })`:                      "size -1 is negative",
	} {
		mistake(t, raw, "table \"o.csv\" { rows = "+expr+" }", want)
	}
}

// npyFile returns the head of an array file.
func npyFile(descr, shape string) string {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	return fmt.Sprintf("\x93NUMPY\x01\x00v\x00%-117s\n", head)
}

// TestContentMistakes reads what cannot be read.
func TestContentMistakes(t *testing.T) {
	raw := rawFiles(map[string]string{
		"list.json": "[1]", "plain.json": `{"cells": 1}`, "broken.json": `{"cells": {"a": 1}`, "text.png": "no picture", "empty.png": "", "short.png": "\x89PNG\r\n\x1a\n",
		"text.npy": "no array at all", "cut.npy": npyFile("<i4", "4, 4") + "1234",
		"whole.npy": npyFile("<i4", "1, 1") + "1234",
		"texts.npy": npyFile("<U4", "1") + "1234567890123456",
		"zero.npy":  npyFile("<i4", "99999999, 99999999, 0"),
		"huge.npy":  npyFile("<i4", "99999999, 99999999"),
		"text.zip":  "no archive",
	})
	for expr, want := range map[string]string{
		`json_names("list.json", "cells", " ")`:          `json_names list.json: there is no object "cells"`,
		`json_names("plain.json", "cells", " ")`:         `there is no object "cells"`,
		`json_names("broken.json", "cells", " ")`:        "json_names broken.json: ",
		`json_names(["plain.json", "no"], "cells", " ")`: `there is no object "cells"`, // the first one that fails
		`json_names(["no", "plain.json"], "cells", " ")`: "json_names no: open no",
		`image_size("text.png")`:                         "not a PNG, JPEG, GIF or TIFF image",
		`image_size("empty.png")`:                        "not a PNG, JPEG, GIF or TIFF image",
		`image_size("short.png")`:                        "image_size short.png: ",
		`npy_size("text.npy", 0)`:                        "not a .npy file",
		`npy_size("whole.npy", 2)`:                       "the array has 2 axes",
		`npy_size("whole.npy", -3)`:                      "the array has 2 axes",
		`npy_size("cut.npy", 0)`:                         "the file is cut off: it has 4 bytes of elements, too few for shape [4 4]",
		`run_lengths("cut.npy")`:                         "the file is cut off: it has 4 bytes of elements",
		`npy("cut.npy")`:                                 "the file is cut off: it has 4 bytes of elements",
		`run_lengths("texts.npy")`:                       `element type "<U4" is not supported for a mask`,
		`run_lengths("huge.npy")`:                        "the file is cut off: it has 0 bytes of elements",
		`run_lengths("zero.npy")`:                        "is not a mask",
		`archive_files("text.zip", "*")`:                 "archive_files text.zip: ",
		`archive_files("none.zip", "*")`:                 "archive_files none.zip: open none.zip",
	} {
		mistake(t, raw, "table \"o.csv\" { rows = "+expr+" }", want)
	}
}
