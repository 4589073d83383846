package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes path and everything below it, read-only folders included.
// It follows no links. That path is not there is no error.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	unlockErr := unlock(path)
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, errors.Join(err, unlockErr))
	}
	return nil
}

// unlock makes path, when it is a folder, and the folders below it writable.
func unlock(path string) error {
	waiting := []string{path}
	for len(waiting) > 0 {
		dir := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return err
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		err := eachIn(dir, func(d fs.DirEntry) error {
			if d.IsDir() {
				waiting = append(waiting, filepath.Join(dir, d.Name()))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
