//go:build unix

package rig

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time, user and system, of this process so far, without child processes.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with valid arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
