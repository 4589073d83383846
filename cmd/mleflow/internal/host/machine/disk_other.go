//go:build !linux && !darwin

package machine

import "errors"

func diskSpace(string) (free, total int64, err error) {
	return 0, 0, errors.ErrUnsupported
}

func reflink(string, string) error { return errors.ErrUnsupported }
