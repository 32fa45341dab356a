//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time, user and system, of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no way to fail with valid arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
