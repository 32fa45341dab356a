package child

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
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
	defer group.release()
	check.That(t, group.alive(), "got no member while the process runs")
	exited := make(chan struct{})
	go func() {
		_ = in.Close()
		_ = cmd.Wait()
		close(exited)
	}()
	check.NoError(t, awaitEnd(exited, group.runs))
}

// A process that cannot join its job does not begin.
func TestNoJob(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("fail"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED}
	check.Must(t, cmd.Start())
	group := &group{process: cmd.Process}
	check.Text(t, group.begin(), "put the process into a job object")
	group.release()
	check.Fails(t, cmd.Wait())
	check.Equal(t, "stderr", stderr.String(), "")
}
