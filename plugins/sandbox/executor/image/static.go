package image

import (
	"debug/elf"
	"errors"
)

// ErrDynamic means that a program needs shared libraries.
var ErrDynamic = errors.New("it is linked with libraries, which the image would lack; build it with CGO_ENABLED=0")

// CheckStatic returns ErrDynamic for a program that cannot be the only file in an
// image; see Static.
func CheckStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return ErrDynamic
		}
	}
	return nil
}
