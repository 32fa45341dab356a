package agent_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// ledgerOfKeys is a server that honours keys: it counts the calls of each.
type ledgerOfKeys struct{ effects map[string]int }

// in is an agent in a folder, whose calls go to the server. Its sub-agent makes calls, too. The context ends it
// after so many model calls of the boss, 0 is never.
func (l *ledgerOfKeys) in(t *testing.T, dir string, stop int, cancel func()) *agent.Agent {
	t.Helper()
	store, err := filestore.Open(dir, nil)
	check(t, err)
	write := adapter.Func("write", "Writes.", func(ctx context.Context, _ struct{ N int }) (string, error) {
		l.effects[adapter.KeyFrom(ctx)]++
		return "written", nil
	}, &adapter.FuncOptions{HonoursKeys: true})
	twice := uses(toolCall("1", "write", `{"N":1}`), toolCall("2", "write", `{"N":1}`))
	helper := newAgent(t, play(twice, says("helped")), &agent.Options{Tools: []adapter.Source{write}})
	steps := []step{twice, uses(toolCall("h", "helper", `{"task":"help"}`)), twice, says("done")}
	if stop > 0 {
		steps[stop] = func(ctx context.Context, _ prompt) (*model.Response, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
	} else {
		stop = -stop
		steps = steps[stop:]
	}
	return boss(t, play(steps...), sub(t, helper, agent.Sub), agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{write}})
}

// A backup is taken while the model is asked for the second time. The run continues to its end; then the backup is restored
// and continued.
func TestRestoredBackup(t *testing.T) {
	l := &ledgerOfKeys{effects: map[string]int{}}
	dir, backup := t.TempDir(), t.TempDir()+"/restored"
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.in(t, dir, 1, cancel).Run(ctx, human("go"), agent.In("one")); err == nil {
		t.Fatal("got no error, want that of the context")
	}
	check(t, os.CopyFS(backup, os.DirFS(dir)))
	check(t, os.Chmod(backup, 0o700))
	key := run.Key{ID: "one"}
	finish := func(dir string) {
		t.Helper()
		if got, err := l.in(t, dir, -1, nil).ResumeRun(t.Context(), key); err != nil || got.Status != run.StatusFinished {
			t.Fatalf("got %v, %v, want the run done", got, err)
		}
	}
	finish(dir)
	first := maps.Clone(l.effects)
	finish(backup)
	if len(first) != 6 {
		t.Errorf("got %d keys, want one for each of 6 calls", len(first))
	}
	diff(t, "keys", slices.Sorted(maps.Keys(l.effects)), slices.Sorted(maps.Keys(first)))
	again := 0
	for _, n := range l.effects {
		again += n - 1
	}
	if again != 4 {
		t.Errorf("got %d calls again with their keys, want the 4 after the backup", again)
	}
}

// A run that is deleted and begun again under its name has other keys, and so has another tenant's.
func TestKeysOfANewRun(t *testing.T) {
	l := &ledgerOfKeys{effects: map[string]int{}}
	dir := t.TempDir()
	for _, tenant := range []string{"", "", "acme"} {
		a := l.in(t, dir, 0, nil)
		mustRun(t, a, human("go"), agent.In("one"), agent.ForTenant(tenant))
		store, err := filestore.Open(dir, nil)
		if err == nil {
			err = store.Delete(t.Context(), run.Key{Tenant: tenant, ID: "one"})
		}
		check(t, err)
	}
	if got := cmp.Diff(slices.Max(slices.Collect(maps.Values(l.effects))), 1); got != "" || len(l.effects) != 18 {
		t.Errorf("got %d keys, want 18 and each once: %v", len(l.effects), l.effects)
	}
}
