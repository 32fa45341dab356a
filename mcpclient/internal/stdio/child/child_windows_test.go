package child

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// A job knows when its last member has ended.
func TestJobEnds(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("echo"))
	in := check.Value(cmd.StdinPipe())(t)
	group := check.Value(startGroup(cmd))(t)
	defer func() { check.NoError(t, group.release()) }()
	check.That(t, group.alive(), "got no member while the process runs")
	exited := make(chan struct{})
	go func() {
		_ = in.Close()
		_ = cmd.Wait()
		close(exited)
	}()
	check.NoError(t, awaitEnd(exited, group.runs))
}

// Stop reports that descendants may still run if the process could not join a job.
func TestNoJob(t *testing.T) {
	p, err := Start(Spec{Path: os.Args[0], Env: append(os.Environ(), testenv.Role("echo"))})
	check.Must(t, err)
	p.group.joinErr = windows.ERROR_ACCESS_DENIED
	err = p.Stop()
	check.Is(t, err, windows.ERROR_ACCESS_DENIED)
	check.Text(t, err, "descendants may still run")
	check.That(t, p.Status() != "", "Stop returned before the process had ended")
}

// A process that has exited needs no job.
func TestJobOfExited(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("echo"))
	check.Must(t, cmd.Start()) // its input is empty
	check.Must(t, cmd.Process.WithHandle(func(handle uintptr) {
		check.NoError(t, check.Err(windows.WaitForSingleObject(windows.Handle(handle), windows.INFINITE)))
	}))
	group := &group{process: cmd.Process}
	group.job, group.joinErr = newJob(cmd.Process)
	check.NoError(t, group.release())
	_ = cmd.Wait()
	_, err := newJob(cmd.Process)
	check.That(t, err != nil, "got no error for a process without a handle")
}
