package testenv

import (
	"os"
	"os/exec"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestRuns(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), Role("waits"))
	in := check.Value(cmd.StdinPipe())(t)
	check.Must(t, cmd.Start())
	pid := cmd.Process.Pid
	check.That(t, Runs(os.Getpid()) && Runs(pid), "got false for a process that runs")
	_ = in.Close()
	check.Must(t, cmd.Wait())
	check.That(t, !Runs(pid), "got true for a process that has ended")
}

func TestNewestPostgres(t *testing.T) {
	path := func(version string) string { return "/usr/lib/postgresql/" + version + "/bin/initdb" }
	check.Equal(t, "newest", newest([]string{path("16"), path("9.6"), path("17"), path("9")}), path("17"))
}
