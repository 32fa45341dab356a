package rig

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time, user and system, of this process so far, without child processes.
// Windows counts it in steps of about 16 ms.
func CPUTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err) // cannot fail
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		panic(err) // cannot fail with valid arguments
	}
	return ticks(kernel) + ticks(user)
}

// ticks reads a duration in steps of 100 ns.
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}
