package source

// All returns the sources, sorted by name. The options hold for all of them
// together, so that a cap is one for the process that calls All once: the
// command line gives MaxRate (--max-rate) and Connections (--connections).
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
