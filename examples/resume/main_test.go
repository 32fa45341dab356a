package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

const programVariable = "MCPCHAIN_RESUME_PROGRAM"

// TestMain makes this program the lesson.
func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func lesson(t *testing.T, runs string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), check.Value(os.Executable())(t), args...)
	cmd.Env = append(os.Environ(), programVariable+"=1", "RUNS="+runs)
	out, _ := cmd.CombinedOutput() // the text tells more than the status
	return strings.TrimSpace(string(out))
}

// One process asks, and another one has the answer.
func TestResume(t *testing.T) {
	const asks = `May pay run with {"bill":17}? Say yes or no.`
	for _, test := range []struct{ answer, want string }{
		{"yes", "the model reads: Bill 17 is paid.\nThat is settled."},
		{"no", "the model reads: Error: the call of pay was denied: not this month. Nothing was done.\nThat is settled."},
	} {
		runs := t.TempDir()
		check.Equal(t, "the first process", lesson(t, runs), asks)
		check.Equal(t, test.answer, lesson(t, runs, test.answer), test.want)
		got := lesson(t, runs, test.answer)
		check.That(t, strings.HasSuffix(got, "no question is open"), "the second answer: got %q", got)
	}
}
