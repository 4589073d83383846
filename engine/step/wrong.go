package step

// ArgError names the argument that caused an error of Kind.New, so that the
// message can show its place in the file.
type ArgError struct {
	// Arg is the name of an argument, or of a nested block.
	Arg string
	Err error
}

// Error returns the text of Err.
func (e *ArgError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ArgError) Unwrap() error { return e.Err }

// WrongArg returns err as an ArgError; nil stays nil.
func WrongArg(arg string, err error) error {
	if err == nil {
		return nil
	}
	return &ArgError{Arg: arg, Err: err}
}

// Mistakes splits an error of Kind.New that joins several errors.
func Mistakes(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // the outermost one counts
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Mistakes(e)...)
	}
	return all
}
