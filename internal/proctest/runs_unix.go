//go:build unix

package proctest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Runs reports whether a process is running. A zombie has ended: it waits for
// its parent to ask for its status.
func Runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	// proc_pid_stat(5): the state follows the name. The name may hold anything.
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return !strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}
