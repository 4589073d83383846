//go:build !linux

package s3test

import (
	"syscall"
	"time"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

func processorTime(int) time.Duration { return 0 }
