package child

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A silent process costs one waiting goroutine, also after output, and after the end of its output.
func TestIdleGoroutines(t *testing.T) {
	for role, stderr := range map[string]string{"echo": "", "greet": "hello", "mute": ""} {
		t.Run(role, func(t *testing.T) {
			p := start(t, role)
			echo(t, p)
			endOfStderr(t, p, stderr)
			eventually(t, "one goroutine waits", func() bool {
				all := goroutines()
				return len(all) == 1 && strings.Contains(all[0], "[IO wait")
			})
		})
	}
}

func TestExitWatchOfReapedProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	check.Must(t, cmd.Run())
	check.Is(t, check.Err(newExitWatch(cmd.Process, nil)), os.ErrProcessDone, "error")
}
