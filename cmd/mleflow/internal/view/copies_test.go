package view

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/plan"
)

func TestPlanCopies(t *testing.T) {
	for want, c := range map[string]*plan.Copies{
		"": nil,
		"Copies: 1.0 KiB in 3 files will be copied, since so.\n":                                                              {Copies: 1, Files: 3, Bytes: 1 << 10, Why: "so"},
		"Copies: 30.0 GiB in 300,000 files, of 2 inputs, and 1 further input of yet unknown size will be copied, since so.\n": {Copies: 2, Files: 300_000, Bytes: 30 << 30, Unknown: 1, Why: "so"},
		"Copies: 2 inputs of yet unknown size will be copied, since so.\n":                                                    {Unknown: 2, Why: "so"},
	} {
		var b strings.Builder
		copies(&b, c, Style{})
		if b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}
