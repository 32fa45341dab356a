package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

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
	state, err := record.Fold(kept.Records)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range record.Open(state) {
		fmt.Printf("%s: may %s run with %s?\n", state.Status, q.Tool, q.Arguments)
		answer := q.AllowWith(json.RawMessage(`{"path":"notes.txt"}`))
		answer.By = "alice"
		if err := record.CheckReply(state, answer, time.Now()); err != nil {
			log.Fatal(err)
		}
		if err := store.Reply(ctx, key, []run.Reply{answer}); err != nil {
			log.Fatal(err)
		}
		other := q.Deny("too late")
		fmt.Println("another answer is refused:", errors.Is(store.Reply(ctx, key, []run.Reply{other}), record.ErrReplied))
	}
	// Output:
	// waiting: may write run with {"path":"/etc/passwd"}?
	// another answer is refused: true
}

// suspended keeps a run that asks whether a call may run.
func suspended(ctx context.Context, store record.Store, key run.Key) error {
	changes := []record.Change{
		&record.Begun{V: record.Version, ID: key.ID, Tenant: key.Tenant, Messages: []run.Message{run.Text(run.RoleUser, "Note it.")}},
		&record.Called{},
		&record.Responded{Calls: []record.Call{{ID: "call_1", Key: "k", Name: "write", Asked: `{"path":"/etc/passwd"}`, At: record.CallProposed}}},
		&record.Opened{Question: run.Question{ID: "ask_1", Kind: run.QuestionApproval, Call: "call_1", Tool: "write", Arguments: json.RawMessage(`{"path":"/etc/passwd"}`), Survives: true}},
		&record.Suspended{},
	}
	state, records := new(record.State), []record.Record{}
	for _, c := range changes {
		r := record.Record{Seq: state.Seq + 1, At: time.Now(), Change: c}
		if err := record.Apply(state, r); err != nil {
			return err
		}
		records = append(records, r)
	}
	lease, err := store.Create(ctx, record.Holder{Name: "worker 1", TTL: time.Minute}, record.HeadOf(state), records)
	if err != nil {
		return err
	}
	return store.Release(ctx, lease)
}

// A page shows all questions that wait for one tenant, and knows no agent.
func ExampleOpenQuestions() {
	ctx, store := context.Background(), record.NewMemory()
	if err := suspended(ctx, store, run.Key{Tenant: "acme", ID: "run_1"}); err != nil {
		log.Fatal(err)
	}
	for open, err := range record.OpenQuestions(ctx, store, record.Query{Tenant: "acme"}) {
		if err != nil {
			log.Fatal(err)
		}
		if open.Err != nil {
			fmt.Println(open.Key.ID, "cannot be read:", open.Err)
			continue
		}
		fmt.Printf("%s: may %s run with %s?\n", open.Key.ID, open.Question.Tool, open.Question.Arguments)
		if err := record.Submit(ctx, store, open.Key, open.Question.Deny("not this file")); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// run_1: may write run with {"path":"/etc/passwd"}?
}

func ExampleKeys() {
	// Secrets come from where the program keeps its others, 32 random bytes each.
	now := record.Secret{ID: "2026-11", Key: bytes.Repeat([]byte("november"), 4)}
	last := record.Secret{ID: "2026-10", Key: bytes.Repeat([]byte("-october"), 4)}
	keys, err := record.NewKeys(now, last)
	if err != nil {
		log.Fatal(err)
	}
	state, err := record.Fold([]record.Record{{Seq: 1, Change: &record.Begun{V: record.Version, ID: "run_1", Tenant: "acme"}}})
	if err != nil {
		log.Fatal(err)
	}
	sealed, err := keys.Seal(state) // for a browser to keep
	if err != nil {
		log.Fatal(err)
	}
	state, err = keys.Open("acme", "run_1", sealed)
	fmt.Println(state.ID, state.Status, err)
	_, err = keys.Open("other", "run_1", sealed)
	fmt.Println(err)
	// Output:
	// run_1 running <nil>
	// open run "run_1": it was sealed for another run
}
