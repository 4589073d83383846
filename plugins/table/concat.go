package table

// Concat returns the rows of all tables one after the other, as pandas.concat
// does: columns in order of first appearance, missing where a table lacks one.
func Concat(tables ...*Table) (*Table, error) {
	return concat(tables)
}
