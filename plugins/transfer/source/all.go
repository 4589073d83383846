package source

// All returns the sources, sorted by name. They share the options, so that a
// limit applies to the whole process if it calls All once. The command line
// sets MaxRate (--max-rate) and Connections (--connections).
func All(options ...Option) []Entry {
	s := defaults()
	for _, o := range options {
		o(&s)
	}
	web := NewHTTP(nil, options...)
	return []Entry{
		{"file", file{s.memo}},
		{"http", web},
		{"kaggle", NewKaggle(web)},
	}
}
