//go:build !linux

package checkout

import "os"

// madeByKernel is false: these systems show the kernel's files in /dev only.
func madeByKernel(*os.File) bool { return false }
