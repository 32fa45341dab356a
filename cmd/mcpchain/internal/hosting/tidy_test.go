package hosting

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Old runs are deleted soon after their time, and not more often than every second.
func TestTidyEvery(t *testing.T) {
	for kept, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, time.Hour: 6 * time.Minute, 720 * time.Hour: time.Hour,
	} {
		check.Equal(t, kept, tidyInterval(kept), want)
	}
}

// TestTidy deletes runs whose last change is long ago, and no others.
func TestTidy(t *testing.T) {
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"))
	check.Must(t, err)
	defer db.Close()
	a, err := agent.New(agenttest.Play(agenttest.Say("done"), agenttest.Say("done")), &agent.Options{Durable: agent.Durable{Store: db.Runs}})
	check.Must(t, err)
	for _, id := range []string{"old", "new"} {
		check.Must(t, check.Err(a.Run(t.Context(), agent.Text("hi"), agent.WithRun(id), agent.WithTenant("Ada"))))
	}
	check.Must(t, check.Err(db.ExecContext(t.Context(), `UPDATE mcpchain_runs SET updated = updated - ? WHERE id = 'old'`, (3*time.Hour).Nanoseconds())))
	log := &told{lines: make(chan string, 10)}
	stop := Tidy(db.Runs, 2*time.Hour, slog.New(slog.NewTextHandler(log, nil)))
	check.Contains(t, "the log", <-log.lines, `"runs were deleted" runs=1`)
	stop()
	check.Is(t, check.Err(db.Runs.Load(t.Context(), run.Key{Tenant: "Ada", ID: "old"})), record.ErrNotFound)
	if _, err := db.Runs.Load(t.Context(), run.Key{Tenant: "Ada", ID: "new"}); err != nil {
		t.Errorf("the new one: %v", err)
	}
}

// told passes lines of a log on.
type told struct{ lines chan string }

func (l *told) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}
