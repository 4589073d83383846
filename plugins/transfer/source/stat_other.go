//go:build !linux

package source

import "io/fs"

func statOf(fs.FileInfo) (stat, bool) { return stat{}, false }
