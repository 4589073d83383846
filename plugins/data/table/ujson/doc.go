// Package ujson reads and writes JSON by lines exactly as pandas does, which
// carries a ujson of its own: pandas.read_json(lines=True) and
// DataFrame.to_json(orient="records", lines=True) of pandas 2.2.
//
// # Vocabulary
//
//   - A text is read into a pyjson.Value, and Append writes one: numbers and
//     texts as ujson takes and spells them, which is not always the nearest
//     double nor the shortest text.
//   - A Record is one line: the members of an object, of which texts, lists
//     and objects stay as they are written until they are asked for.
//   - Columns are what pandas makes of the members of many records: one type
//     each, which decides how the values of every record are written.
//
// # Invariants
//
//   - ujson is lenient: raw control characters in strings, numbers such as
//     "1.", "01" or "-", and a comma before a closing brace are read as it
//     reads them.
//   - What ujson refuses is an error with its place. So is what it would read
//     but cannot write (a lone surrogate), and a line that holds more than one
//     value, which pandas takes for more rows.
//
// The package knows no tables and opens no files.
package ujson
