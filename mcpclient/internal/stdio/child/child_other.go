//go:build aix || (!unix && !windows)

package child

import (
	"os"
	"os/exec"
)

// group is only the process on systems without groups.
type group struct {
	process *os.Process
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{process: cmd.Process}, nil
}

// alive returns false: after the process nothing of the group is known.
func (g *group) alive() bool { return false }

func (g *group) runs() bool { return g.alive() }

func (g *group) terminate() { g.kill() }

func (g *group) kill() { _ = g.process.Kill() }

func (g *group) release() {}
