package testenv

import (
	"os"
	"os/exec"
	"testing"
)

func TestKillChildren(t *testing.T) {
	start := func(word string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-word", word)
		cmd.Env = append(os.Environ(), Role("waits"))
		in, err := cmd.StdinPipe()
		check(t, err)
		check(t, cmd.Start())
		t.Cleanup(func() { _ = in.Close() })
		return cmd
	}
	one, other := start("the-one"), start("the-other")
	ended := make(chan error, 1)
	go func() { ended <- one.Wait() }()
	if n := KillChildren(t, "the-one"); n != 1 {
		t.Errorf("got %d killed, want 1", n)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
	if !Runs(other.Process.Pid) {
		t.Error("the other was killed, too")
	}
	if n := KillChildren(t, "no-such-word"); n != 0 {
		t.Errorf("got %d killed, want none", n)
	}
}
