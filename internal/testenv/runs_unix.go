//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Runs reports whether a process is running. A zombie has ended: it waits for its parent to ask for its status.
func Runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	// proc_pid_stat(5): the state follows the name. The name may hold anything.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil { // its parent may have asked in between, or this system has no such file
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	state := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(state, " Z") && !strings.HasPrefix(state, " X")
}
