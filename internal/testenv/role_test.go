package testenv

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMain(m *testing.M) {
	Main(m, map[string]func() int{"waits": func() int { // for the end of its input
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		return 0
	}})
}

func TestUnknownRole(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), Role("sleeps"))
	out, _ := cmd.CombinedOutput()
	check.Same(t, "status and output", []any{cmd.ProcessState.ExitCode(), string(out)}, []any{2, "testenv: no role \"sleeps\"\n"})
}
