package talk

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestLogOfTurns lets one turn fail and stops another: the log has a line for the first one alone.
func TestLogOfTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		model := agenttest.Play(agenttest.Fail(errors.New("no luck")), agenttest.Hang())
		s, failed := begun(t, Options{Model: model, Store: record.NewMemory(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		synctest.Wait()
		stopped, err := s.Begin(t.Context(), "Ada", "hello")
		check.Must(t, err)
		synctest.Wait()
		check.Must(t, s.Stop(t.Context(), "Ada", stopped))
		line := log.String()
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, "level=WARN") || !strings.Contains(line, "user=Ada conversation="+failed) || !strings.Contains(line, "no luck") {
			t.Errorf("got %q, want one line about %s", line, failed)
		}
	})
}
