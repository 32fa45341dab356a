package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// A run that waits for a person needs no process: any process may reply.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sql.Open("sqlite", filepath.Join(folder, "runs.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	store, err := sqlstore.Open(ctx, db, sqlstore.DialectSQLite)
	if err != nil {
		log.Fatal(err)
	}

	pay := adapter.Func("pay", "Pays a bill.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
	clerk, err := agent.New(agenttest.Play(agenttest.CallTools(agenttest.ToolCall{Tool: "pay"})), &agent.Options{
		Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: store},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := clerk.Run(ctx, agent.Text("Pay the bill."), agent.WithRun("trip"))
	if err != nil {
		log.Fatal(err)
	}
	if err := record.Submit(ctx, store, run.Key{ID: "trip"}, result.Questions[0].Allow()); err != nil {
		log.Fatal(err)
	}
	for head, err := range store.List(ctx, record.Query{DueAt: time.Now()}) {
		fmt.Println(head.Key.ID, head.Status, head.ReplyCount, err)
	}
	// Output: trip waiting 1 <nil>
}
