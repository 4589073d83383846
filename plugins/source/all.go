package source

// All returns the sources, sorted by name.
func All() []Entry {
	web := NewHTTP(nil)
	return []Entry{
		{"file", File{}},
		{"http", web},
		{"kaggle", NewKaggle(web)},
	}
}
