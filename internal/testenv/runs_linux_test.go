package testenv

import (
	"os/exec"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A process that has ended does not run again while its parent asks for its status.
func TestRunsOfZombie(t *testing.T) {
	for range 100 {
		cmd := exec.Command("true")
		check.Must(t, cmd.Start())
		pid := cmd.Process.Pid
		for end := time.Now().Add(Patience); Runs(pid); time.Sleep(100 * time.Microsecond) {
			check.Require(t, !time.Now().After(end), "got true for a process that nobody has waited for")
		}
		waited := make(chan error, 1)
		go func() { waited <- cmd.Wait() }()
		for open := true; open; {
			select {
			case err := <-waited:
				open = false
				check.Require(t, err == nil, "%v", err)
			default:
				check.Require(t, !Runs(pid), "got true for a process that has ended")
			}
		}
	}
}
