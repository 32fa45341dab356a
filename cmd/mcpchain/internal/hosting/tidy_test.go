package hosting

import (
	"context"
	"iter"
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

// listed is a store whose list is older than its runs.
type listed struct {
	record.Store
	heads []run.Head
}

func (s listed) List(_ context.Context, q record.Query) iter.Seq2[run.Head, error] {
	q.ChangedBefore = time.Time{} // as asked for when they were listed
	return func(yield func(run.Head, error) bool) {
		for _, head := range s.heads {
			if q.Matches(head) && !yield(head, nil) {
				return
			}
		}
	}
}

// TestTidy deletes runs whose last change is long ago, and no others: neither a newer one, nor one
// that gets another input after it was listed.
func TestTidy(t *testing.T) {
	db := check.Value(database.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db")))(t)
	defer db.Close()
	a := check.Value(agent.New(agenttest.Play(agenttest.Say("done"), agenttest.Say("done"), agenttest.Say("done"), agenttest.Say("done again")), &agent.Options{Durable: agent.Durable{Store: db.Runs}}))(t)
	for _, id := range []string{"old", "new", "continued"} {
		check.Must(t, check.Err(a.Run(t.Context(), agent.Text("hi"), agent.WithRun(id), agent.WithTenant("Ada"))))
	}
	check.Must(t, check.Err(db.ExecContext(t.Context(), `UPDATE mcpchain_runs SET updated = updated - ? WHERE id <> 'new'`, (3*time.Hour).Nanoseconds())))
	store := listed{Store: db.Runs}
	for head, err := range db.Runs.List(t.Context(), record.Query{AllTenants: true, ChangedBefore: time.Now().Add(-2 * time.Hour)}) {
		check.Must(t, err)
		store.heads = append(store.heads, head)
	}
	check.Must(t, check.Err(a.Run(t.Context(), agent.Text("go on"), agent.WithRun("continued"), agent.WithTenant("Ada"))))
	log := &told{lines: make(chan string, 10)}
	stop := Tidy(store, 2*time.Hour, slog.New(slog.NewTextHandler(log, nil)))
	check.Contains(t, "the log", <-log.lines, `"runs were deleted" runs=1`)
	stop()
	check.Is(t, check.Err(db.Runs.Load(t.Context(), run.Key{Tenant: "Ada", ID: "old"})), record.ErrNotFound)
	for _, id := range []string{"new", "continued"} {
		check.NoError(t, check.Err(db.Runs.Load(t.Context(), run.Key{Tenant: "Ada", ID: id})), id)
	}
}

type told struct{ lines chan string }

func (l *told) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}
