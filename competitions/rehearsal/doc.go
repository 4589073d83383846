// Package rehearsal draws the raw data of a rehearsal for a competition of one's own from
// the shape of its real raw data.
//
// # Vocabulary
//
//   - A shape is names, types and statistics of raw data.
//   - An entity is a thing with an id, such as a patient or a picture. Columns and names of
//     files have ids.
//   - The hidden value z of an entity or a row drives all that is drawn for it, so that
//     labels depend on features and a model can learn.
//
// # Invariants
//
//   - The same id of a competition and the same shape give the same bytes.
//   - Copied are the names of columns, folders and few files, the characters that all ids
//     of a column have in a place, quantiles of numbers and dates, and the values of
//     categories: at most 50 short ones that repeat. With NoValues, categories get other
//     values and quantiles two digits.
//   - Ids and texts are made up, and differ from all real ones that were read. Numbers,
//     categories and dates are drawn column by column. Real rows only decide which made-up
//     ids occur together, how often, and in which tables and folders; so ids that are in
//     two tables, or in one only, stay so.
//   - A row without an id or a text may be equal to a real one if all its columns are
//     categories.
//   - A set has about 200 rows a table and files a folder, and 300 KB packed at most.
//
// # Limits
//
// Files are CSV, TSV, text, PNG, JPEG, and archives of these, which become folders of
// their names. Columns of one name are one in all tables. Categories of more than 50
// values are treated as ids or texts.
package rehearsal
