package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// An agent keeps its runs in a database.
func ExampleOpen() {
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
	store, err := sqlstore.OpenSQLite(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	clerk, err := agent.New(agenttest.Play(agenttest.Say("Hello.")), &agent.Options{Durable: agent.Durable{Store: store}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := clerk.Run(ctx, agent.Text("Hi."), agent.WithRun("run_1")); err != nil {
		log.Fatal(err)
	}
	for head, err := range store.List(ctx, record.Query{}) {
		fmt.Println(head.Key.ID, head.Status, err)
	}
	// Output: run_1 done <nil>
}
