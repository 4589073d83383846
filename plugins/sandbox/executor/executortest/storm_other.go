//go:build !linux

package executortest

func probeStorm([]string) int { return 98 }
