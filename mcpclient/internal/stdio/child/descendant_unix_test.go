//go:build unix

package child

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// A descendant outside the group that holds the standard error open delays neither Done nor Stop.
func TestDescendantHoldsStderr(t *testing.T) {
	for _, stderr := range []io.Writer{nil, io.Discard} {
		p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "setsid sh -c 'echo $$; exec sleep 1000 >/dev/null' &"}, Stderr: stderr})
		check.Must(t, err)
		line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
		pid, bad := strconv.Atoi(strings.TrimSpace(line))
		check.Require(t, err == nil && bad == nil, "got %q and error %v, want the descendant's id", line, err)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		select {
		case <-p.Done():
		case <-time.After(testenv.Patience):
			t.Fatal("Done waits for the descendant")
		}
		check.NoError(t, p.Stop())
		check.That(t, testenv.Runs(pid), "the descendant has ended before Stop returned")
	}
}
