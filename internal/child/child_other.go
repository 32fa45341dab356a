//go:build aix || (!unix && !windows)

package child

import "os/exec"

// group is the process alone, where the system knows no groups.
type group struct {
	cmd *exec.Cmd
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd: cmd}, nil
}

func (g *group) alive() bool { return false }

func (g *group) runs() bool { return g.alive() }

func (g *group) terminate() { g.kill() }

func (g *group) kill() { _ = g.cmd.Process.Kill() }

func (g *group) release() {}
