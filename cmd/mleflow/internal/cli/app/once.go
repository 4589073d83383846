package app

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onceValue is the value of a flag that may be given only once, or again with the
// same value: the last of several would silently replace the others.
type onceValue struct {
	pflag.Value
	given *string
}

// errGivenTwice is the error of a flag that had another value before.
type errGivenTwice struct{ before string }

// Error implements error.
func (e errGivenTwice) Error() string {
	return fmt.Sprintf("it was also given as %.60q; give it once", e.before)
}

// Set implements pflag.Value.
func (o *onceValue) Set(text string) error {
	if o.given != nil && *o.given != text {
		return errGivenTwice{*o.given}
	}
	o.given = &text
	return o.Value.Set(text)
}

// SetOnce makes it so for all flags of a command and those below it that hold one
// value of a basic type.
func SetOnce(cmd *cobra.Command) {
	once := func(f *pflag.Flag) {
		switch fmt.Sprintf("%T", f.Value) {
		case "*pflag.stringValue", "*pflag.intValue", "*pflag.int64Value", "*pflag.uint64Value", "*pflag.float64Value", "*pflag.durationValue":
			f.Value = &onceValue{Value: f.Value}
		}
	}
	cmd.Flags().VisitAll(once)
	cmd.PersistentFlags().VisitAll(once)
	for _, below := range cmd.Commands() {
		SetOnce(below)
	}
}
