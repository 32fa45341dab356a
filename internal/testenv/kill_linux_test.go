package testenv

import (
	"os"
	"os/exec"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

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
