package source

// All returns the sources, sorted by name.
func All() []Entry {
	return []Entry{
		{"file", File{}},
		{"http", NewHTTP(nil)},
		{"kaggle", Kaggle{}},
	}
}
