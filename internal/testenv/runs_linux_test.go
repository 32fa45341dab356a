package testenv

import (
	"os"
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

func TestKillChildren(t *testing.T) {
	start := func(word string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-word", word)
		cmd.Env = append(os.Environ(), Role("waits"))
		in := check.Value(cmd.StdinPipe())(t)
		check.Must(t, cmd.Start())
		t.Cleanup(func() { _ = in.Close() })
		return cmd
	}
	one, other := start("the-one"), start("the-other")
	ended := make(chan error, 1)
	go func() { ended <- one.Wait() }()
	check.Equal(t, "killed", KillChildren(t, "the-one"), 1)
	check.Fails(t, <-ended, "the process ended without being killed")
	check.That(t, Runs(other.Process.Pid), "the other was killed, too")
	check.Equal(t, "killed", KillChildren(t, "no-such-word"), 0)
}
