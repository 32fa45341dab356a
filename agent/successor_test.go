package agent_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A form is answered by another program, with another prompt, another model and other code of
// the same tools: the run comes to the state of one that nothing has disturbed, and the server
// asks once.
func TestFormAnsweredByAnotherProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "successor")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/successor").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	all := &worlds{all: map[string]*world{}}
	server := httptest.NewServer(all)
	defer server.Close()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		flag, path string
		open       func(context.Context, string) (record.Store, func() error, error)
	}{
		"files":  {"-files", dir, openFiles},
		"SQLite": {"-sqlite", filepath.Join(dir, "runs.db"), openSQLite},
	} {
		t.Run(name, func(t *testing.T) {
			memory := record.NewMemory()
			registers(t, server.URL+"/"+name+"-undisturbed/office", agent.Options{Durable: agent.Durable{Store: memory}, Person: agent.Person{Reply: atHand("Ann")}}, run.StatusFinished)
			want, _, err := masked(t.Context(), memory)
			check(t, err)

			store, closeStore, err := tt.open(t.Context(), tt.path)
			check(t, err)
			url := server.URL + "/" + name + "/office"
			registers(t, url, agent.Options{Durable: agent.Durable{Store: store}}, run.StatusWaiting)
			check(t, closeStore())
			out, err := exec.CommandContext(t.Context(), program, tt.flag, tt.path, "-server", url, "-run", theRun.ID).CombinedOutput()
			if err != nil {
				t.Fatalf("the other program: %v: %s", err, out)
			}
			if store, closeStore, err = tt.open(t.Context(), tt.path); err != nil {
				t.Fatal(err)
			}
			defer closeStore()
			got, _, err := masked(t.Context(), store)
			check(t, err)
			diff(t, "state", got, want)
			last, err := folded(t.Context(), store)
			check(t, err)
			diff(t, "answer", string(out), last.Output)
			w := all.of(name)
			if w.put != 1 || w.effects["7"] != 1 || len(w.wrong) > 0 {
				t.Errorf("the server has asked %d times and registered %d times, want once: %v", w.put, w.effects["7"], w.wrong)
			}
		})
	}
}

// registers begins the run in this program. Its server asks for a form.
func registers(t *testing.T, url string, opts agent.Options, want run.Status) {
	t.Helper()
	toolset := openAll(t, nil,
		adapter.Server{Name: "office", Transport: &mcpclient.HTTP{URL: url}})
	type name struct {
		Name string `json:"name"`
	}
	stamp := adapter.Func("stamp", "Stamps a name.", func(_ context.Context, n name) (string, error) { return n.Name + ", stamped", nil }, nil)
	opts.Name, opts.Version, opts.System, opts.Tools = "clerk", "1", "Be brief.", []adapter.Source{toolset, stamp}
	model := play(uses(toolCall("1", "form", `{"n":"7"}`)), uses(toolCall("2", "stamp", `{"name":"Ann"}`)), tellsResults)
	got, err := newAgent(t, model, &opts).Run(t.Context(), human("go"), agent.In(theRun.ID))
	if err != nil || got.Status != want {
		t.Fatalf("got %s, %v, want %s", got.Status, err, want)
	}
}

// tellsResults answers with all results.
func tellsResults(ctx context.Context, p prompt) (*model.Response, error) {
	return says(fmt.Sprintf("%q", results(p.Request.Messages)))(ctx, p)
}

func openFiles(_ context.Context, dir string) (record.Store, func() error, error) {
	store, err := filestore.Open(dir, nil)
	return store, func() error { return nil }, err
}

func openSQLite(ctx context.Context, file string) (record.Store, func() error, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlstore.New(ctx, db, sqlstore.DialectSQLite)
	return store, db.Close, err
}
