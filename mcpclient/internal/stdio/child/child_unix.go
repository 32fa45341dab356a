//go:build unix && !aix

package child

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// group is a process group. The system does not reuse its number while it has a member, so that signals reach only
// descendants of its head. If this process is killed, the child sees the end of its standard input. Linux's Pdeathsig does
// not help: it follows the thread that started the process, and Go's threads end at any time.
type group struct {
	id int
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{id: cmd.Process.Pid}, nil
}

// alive reports whether the group has members. The head must have been reaped. If this process
// adopts orphans, as the first process of a container does, alive reaps them.
func (g *group) alive() bool {
	for syscall.Kill(-g.id, 0) != syscall.ESRCH {
		pid, err := syscall.Wait4(-g.id, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR && (err != nil || pid <= 0) {
			return true
		}
	}
	return false
}

// runs reports whether the group has running members. A zombie has ended: it waits for its parent to ask for its status, and
// some parents never do. If the system does not tell, every member counts as running.
func (g *group) runs() bool {
	if !g.alive() {
		return false
	}
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		return true
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		stat, _ := os.ReadFile(path) // it may have ended meanwhile
		// proc_pid_stat(5): the state, the parent and the group follow the name. The name may hold anything.
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		return len(f) > 2 && f[2] == strconv.Itoa(g.id) && f[0] != "Z" && f[0] != "X"
	})
}

func (g *group) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }

func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

func (g *group) release() {}
