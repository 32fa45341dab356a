package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.temporal.io/server/temporaltest"
)

// TestServiceOfTheProgram runs tests of "mcpchain serve -api" with a Temporal server: users,
// questions, streams, stops and restarts are as in one process.
func TestServiceOfTheProgram(t *testing.T) {
	opted(t)
	server := temporaltest.NewServer()
	t.Cleanup(server.Stop)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run",
		"^(TestTwoUsers|TestQuestions|TestStreamResumes|TestStop|TestRestart|TestIdempotencyKey|TestStoredRuns)$", ".")
	cmd.Dir = filepath.Join("..", "..", "cmd", "mcpchain", "internal", "service")
	cmd.Env = append(os.Environ(), "SERVICE_TEMPORAL="+server.GetFrontendHostPort(), "SERVICE_NAMESPACE="+server.GetDefaultNamespace())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
