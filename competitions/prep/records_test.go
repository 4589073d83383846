package prep_test

import "testing"

// TestRecordMistakes runs blocks that use records in a wrong way.
func TestRecordMistakes(t *testing.T) {
	raw := rawFiles(map[string]string{
		"a.csv":     "id,label\n1,x\n2,\n3,z\n",
		"list.json": `[{"id": 1, "g": "a"}, {"id": 2, "g": "b"}, {"id": 3}]`, "mixed.json": `[{"id": 1}, 2]`, "object.json": `{"id": 1, "one": 2}`,
	})
	const list, mixed, object, table = `json("list.json")`, `json("mixed.json")`, `json("object.json")`, `csv("a.csv")`
	for _, tt := range []struct{ name, expr, want string }{
		{"object of a table", `object({ t = ` + table + ` })`, "Wrong value for t; expected records, a value read from JSON, a list or a single value, not a table"},
		{"object of nothing", `object(3)`, "Not an object"},
		{"with_fields of another length", `with_fields(` + list + `, { x = head(` + table + `.id, 2) })`, `column "x" has 2 rows; there are 3 records`},
		{"with_fields of no objects", `with_fields(` + mixed + `, { x = 1 })`, "record 1 must be an object, not int"},
		{"with_fields of a table", `with_fields(` + table + `, { x = 1 })`, "Wrong argument records of with_fields; expected records"},
		{"with_fields of a number", `with_fields(` + object + `.one, { x = 1 })`, "expected records or an object, not int"},
		{"select_fields of what is not there", `select_fields(` + list + `, ["id", "g"])`, `record 2 has no member "g"`},
		{"drop_fields of no objects", `drop_fields(` + mixed + `, ["id"])`, "record 1 must be an object, not int"},
		{"pandas_records of no objects", `pandas_records(` + mixed + `)`, "record 1 must be an object, not int"},
		{"pandas_records of an object", `pandas_records(` + object + `)`, "expected records"},
		{"a group of one", `train_test_split_each(` + list + `, ` + list + `.id, { test_size = 0.2 }).train`, "train_test_split_each: group 1: "},
		{"groups of another length", `train_test_split_each(` + list + `, head(` + table + `.id, 2), { test_size = 0.2 }).train`, "groups has 2 cells; there are 3 rows"},
		{"no share", `train_test_split_each(` + list + `, ` + list + `.id, {}).train`, "test_size must be a share between 0 and 1"},
		{"a number of rows for a share", `train_test_split_each(` + list + `, ` + list + `.id, { test_size = 2 }).train`, "test_size must be a share between 0 and 1"},
		{"a seed below zero", `train_test_split_each(` + list + `, ` + table + `.label, { test_size = 0.2, random_state = -1 }).train`, "train_test_split_each: group x: "},
		{"positions of nothing", `take(` + list + `, positions(` + list + `.id, [3, 4]))`, `no cell of column "id" equals "4", the value of row 1`},
		{"cumulative_sum of texts", `cumsum(` + table + `.label)`, "cumsum works on a column of numbers, not on text cells"},
	} {
		t.Run(tt.name, func(t *testing.T) { mistake(t, raw, "json \"o.json\" { value = "+tt.expr+" }", tt.want) })
	}
}
