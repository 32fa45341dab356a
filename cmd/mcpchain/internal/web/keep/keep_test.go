package keep

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func open(t *testing.T) *Store {
	t.Helper()
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "web.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store, err := New(t.Context(), db.DB, db.Runs)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestStore is what each store of runs has to do.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store { return open(t) })
}

// TestEditsShare begins 25 conversations with the same long history: it is kept once, read whole, and deleted with the last of
// them.
func TestEditsShare(t *testing.T) {
	store := open(t)
	var history []run.Message
	for n := range 40 {
		history = append(history, run.Text(run.RoleUser, "question "+strings.Repeat(fmt.Sprint(n), 5000)), run.Text(run.RoleAssistant, "answer "+strings.Repeat(fmt.Sprint(n), 5000)))
	}
	edit := func(n int) run.Key {
		a, err := agent.New(agenttest.Play(agenttest.Say("done")), &agent.Options{Durable: agent.Durable{Store: store}})
		if err != nil {
			t.Fatal(err)
		}
		in := agent.Messages(append(history[:len(history):len(history)], run.Text(run.RoleUser, fmt.Sprint("x", n)))...)
		key := run.Key{Tenant: "Ada", ID: fmt.Sprint("c", n)}
		if _, err := a.Run(t.Context(), in, agent.In(key.ID), agent.ForTenant(key.Tenant)); err != nil {
			t.Fatal(err)
		}
		return key
	}
	edit(0)
	_, first, err := store.Kept(t.Context(), "Ada")
	if err != nil || first < 500_000 {
		t.Fatalf("got %d bytes, %v", first, err)
	}
	for n := range 24 {
		edit(n + 1)
	}
	kept, bytes, err := store.Kept(t.Context(), "Ada")
	if grown := bytes - first; err != nil || kept != 25 || grown > 24*10_000 {
		t.Fatalf("got %d conversations, %d bytes more than one, %v", kept, grown, err)
	}
	for n := range 24 {
		if err := store.Delete(t.Context(), run.Key{Tenant: "Ada", ID: fmt.Sprint("c", n)}); err != nil {
			t.Fatal(err)
		}
	}
	log, err := store.Load(t.Context(), run.Key{Tenant: "Ada", ID: "c24"})
	if err != nil {
		t.Fatal(err)
	}
	want := append(history[:len(history):len(history)], run.Text(run.RoleUser, "x24"))
	if diff := cmp.Diff(want, ledger.ChangeOf(log.Records[0]).(*ledger.Begun).Messages); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n, err := hosting.Forget(t.Context(), store, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("got %d, %v, want one conversation forgotten", n, err)
	}
	if kept, bytes, err := store.Kept(t.Context(), "Ada"); kept != 0 || bytes != 0 || err != nil {
		t.Errorf("got %d conversations and %d bytes, %v, after all were deleted", kept, bytes, err)
	}
}

// TestLostMessage has a message that cannot be read: its conversation is damaged, and no other.
func TestLostMessage(t *testing.T) {
	store := open(t)
	a, err := agent.New(agenttest.Play(agenttest.Say("done")), &agent.Options{Durable: agent.Durable{Store: store}})
	if err != nil {
		t.Fatal(err)
	}
	key := run.Key{ID: "c"}
	in := agent.Messages(run.Text(run.RoleUser, "a"), run.Text(run.RoleAssistant, "b"), run.Text(run.RoleUser, "c"))
	if _, err := a.Run(t.Context(), in, agent.In(key.ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.db.ExecContext(t.Context(), `DELETE FROM web_messages`); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), key); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("got %v, want that it is damaged", err)
	}
}

// TestTidy deletes conversations whose last turn is long ago, and no others.
func TestTidy(t *testing.T) {
	store := open(t)
	a, err := agent.New(agenttest.Play(agenttest.Say("done"), agenttest.Say("done")), &agent.Options{Durable: agent.Durable{Store: store}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"old", "new"} {
		if _, err := a.Run(t.Context(), agent.Text("hi"), agent.In(id), agent.ForTenant("Ada")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.db.ExecContext(t.Context(), `UPDATE mcpchain_runs SET updated = updated - ? WHERE id = 'old'`, (3 * time.Hour).Nanoseconds()); err != nil {
		t.Fatal(err)
	}
	log := &told{lines: make(chan string, 10)}
	stop := hosting.Tidy(store, 2*time.Hour, slog.New(slog.NewTextHandler(log, nil)))
	if line := <-log.lines; !strings.Contains(line, `"runs were deleted" runs=1`) {
		t.Errorf("got the log %s", line)
	}
	stop()
	if _, err := store.Load(t.Context(), run.Key{Tenant: "Ada", ID: "old"}); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("got %v, want that the old one is deleted", err)
	}
	if _, err := store.Load(t.Context(), run.Key{Tenant: "Ada", ID: "new"}); err != nil {
		t.Errorf("the new one: %v", err)
	}
}

// told passes lines of a log on.
type told struct{ lines chan string }

func (l *told) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}
