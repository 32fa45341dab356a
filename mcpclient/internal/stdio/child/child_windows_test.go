package child

import (
	"os"
	"os/exec"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// A job knows when its last member has ended.
func TestJobEnds(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("echo"))
	in, err := cmd.StdinPipe()
	check.Must(t, err)
	group, err := startGroup(cmd)
	check.Must(t, err)
	defer group.release()
	if !group.alive() {
		t.Error("got no member while the process runs")
	}
	exited := make(chan struct{})
	go func() {
		_ = in.Close()
		_ = cmd.Wait()
		close(exited)
	}()
	check.NoError(t, awaitEnd(exited, group.runs))
}
