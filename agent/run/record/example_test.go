package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// A run waits for a person as rows of a store. Any process shows its questions and keeps
// the answers; the process that continues the run takes them.
func Example() {
	ctx, store, key := context.Background(), record.NewMemory(), run.Key{Tenant: "acme", ID: "run_1"}
	if err := suspended(ctx, store, key); err != nil { // what an agent does
		log.Fatal(err)
	}

	kept, err := store.Load(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	questions, err := kept.Questions()
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range questions {
		fmt.Printf("%s: may %s run with %s?\n", kept.Head.Status, q.Tool, q.Arguments)
		reply := q.Allow()
		reply.Arguments = json.RawMessage(`{"path":"notes.txt"}`)
		reply.By = "alice"
		if err := record.Submit(ctx, store, key, reply); err != nil {
			log.Fatal(err)
		}
		other := q.Deny("too late")
		fmt.Println("another answer is refused:", errors.Is(store.Reply(ctx, key, []run.Reply{other}), record.ErrReplied))
	}
	// Output:
	// waiting: may write run with {"path":"/etc/passwd"}?
	// another answer is refused: true
}

// A page shows all questions that wait for one tenant, and knows no agent.
func ExampleOpenQuestions() {
	ctx, store := context.Background(), record.NewMemory()
	if err := suspended(ctx, store, run.Key{Tenant: "acme", ID: "run_1"}); err != nil {
		log.Fatal(err)
	}
	for open, err := range record.OpenQuestions(ctx, store, record.Query{Tenant: "acme"}) {
		if errors.Is(err, record.ErrDamaged) {
			fmt.Println(open.Head.Key.ID, err)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: may %s run with %s?\n", open.Head.Key.ID, open.Question.Tool, open.Question.Arguments)
		if err := record.Submit(ctx, store, open.Head.Key, open.Question.Deny("not this file")); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// run_1: may write run with {"path":"/etc/passwd"}?
}

func ExampleKeys() {
	// Secrets come from where the program keeps its others, 32 random bytes each.
	keys, err := record.NewKeys("2026-11", map[string][]byte{
		"2026-11": bytes.Repeat([]byte("november"), 4),
		"2026-10": bytes.Repeat([]byte("-october"), 4), // decrypts what it has encrypted
	})
	if err != nil {
		log.Fatal(err)
	}
	state := []byte(`{"v":1,"id":"run_1","tenant":"acme","seq":1,"status":"waiting"}`) // of Result.State as JSON
	sealed, err := keys.Seal(run.Key{Tenant: "acme", ID: "run_1"}, state)              // for a browser to keep
	if err != nil {
		log.Fatal(err)
	}
	opened, err := keys.Open(run.Key{Tenant: "acme", ID: "run_1"}, sealed)
	fmt.Println(string(opened), err)
	_, err = keys.Open(run.Key{Tenant: "other", ID: "run_1"}, sealed)
	fmt.Println(err)
	// Output:
	// {"v":1,"id":"run_1","tenant":"acme","seq":1,"status":"waiting"} <nil>
	// open run "run_1": stored data is damaged: sealed data was changed, truncated or moved
}
