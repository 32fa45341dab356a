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

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// A run that waits for a person is rows of a table: any process may answer it.
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
	store, err := sqlstore.New(ctx, db, sqlstore.DialectSQLite)
	if err != nil {
		log.Fatal(err)
	}

	state := new(ledger.State)
	records, err := state.Add(time.Now(),
		&ledger.Begun{V: ledger.Version, ID: "trip"},
		&ledger.Opened{Question: run.Question{ID: "city", Kind: run.QuestionForm, Survives: true}},
		&ledger.Suspended{},
	)
	if err != nil {
		log.Fatal(err)
	}
	lease, err := store.Create(ctx, record.Holder{Name: "worker", TTL: time.Minute}, ledger.HeadOf(state), records)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Release(ctx, lease); err != nil {
		log.Fatal(err)
	}
	answer := run.Reply{Question: "city", Action: run.ActionAccept, Content: []byte(`{"city":"Łódź"}`)}
	if err := store.Reply(ctx, lease.Key, []run.Reply{answer}); err != nil {
		log.Fatal(err)
	}
	for head, err := range store.List(ctx, record.Query{DueAt: time.Now()}) {
		fmt.Println(head.Key.ID, head.Status, head.Replies, err)
	}
	// Output: trip waiting 1 <nil>
}
