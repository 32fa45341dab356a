package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// A run waits for a person. Another process, which has the same directory, gives the answer.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := filestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	state := new(ledger.State)
	records, err := state.Add(time.Now(),
		&ledger.Begun{V: ledger.Version, ID: "run_1"},
		&ledger.Opened{Question: run.Question{ID: "ask_1", Kind: run.QuestionForm, Survives: true}},
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

	other, err := filestore.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	for head, err := range other.List(ctx, record.Query{Status: run.StatusWaiting}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(head.Key.ID, "asks", head.Questions)
		err = other.Reply(ctx, head.Key, []run.Reply{{Question: head.Questions[0], Action: run.ActionAccept, Content: []byte(`{"city":"Oslo"}`)}})
		if err != nil {
			log.Fatal(err)
		}
	}
	for head := range store.List(ctx, record.Query{DueAt: time.Now()}) {
		fmt.Println(head.Key.ID, "continues with answers:", head.Replies)
	}
	// Output:
	// run_1 asks [ask_1]
	// run_1 continues with answers: 1
}
