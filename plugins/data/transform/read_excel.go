package transform

import (
	"bytes"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/xlsx"
)

// excelOptions are the options of excel.
type excelOptions struct {
	Sheet   string            `verb:"sheet"`
	Types   map[string]string `verb:"types"`
	Names   []string          `verb:"names"`
	Header  *bool             `verb:"header"`
	Missing *bool             `verb:"missing"`
	Columns []string          `verb:"columns"`
}

var excelVerb = Verb{
	Name: "excel", Params: []string{"path", "options"},
	Summary: "The table in a sheet of an Excel file (.xlsx) of the raw data: the first, or that of the name sheet.",
	Detail:  "Cells are read as if the sheet were a CSV file, whose options types, names, header, missing and columns it takes. Formulas count as the values that Excel stored, errors as missing; booleans stay booleans, of which pandas makes numbers where a cell is missing. Dates become 2020-09-22, in a column with a time of day 2020-09-22 10:30:00. A sheet has at most 10,000,000 cells up to its last row and column, a file 512 MiB unpacked.",
	Source:  "pandas.read_excel(path, sheet_name=) with openpyxl 3.1",
	Func: func(in *Input, path string, o *excelOptions) (_ *table.Table, err error) {
		defer reading("excel", path, &err)
		at, size, err := in.readable(path)
		if err != nil {
			return nil, err
		}
		text, err := xlsx.CSV(at, size, o.Sheet)
		if err != nil {
			return nil, err
		}
		csv := csvOptions{Types: o.Types, Names: o.Names, Header: o.Header, Missing: o.Missing}
		opts, err := csv.options()
		if err != nil {
			return nil, err
		}
		opts.RetainLines = false
		t, err := table.ReadCSV(bytes.NewReader(text), opts)
		if err == nil && o.Columns != nil {
			t, err = t.Select(o.Columns...)
		}
		return t, err
	},
}
