package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// clerk is an agent as each process makes it: the processes share a directory.
func clerk(dir string, model agent.Model) (*agent.Agent, record.Store) {
	store := must(filestore.Open(dir, nil))
	a := must(agent.New(model, &agent.Options{
		Name:    "clerk",
		Tools:   []adapter.Source{payment()},
		Person:  agent.Person{Approve: agent.AskPerson},
		Durable: agent.Durable{Store: store},
	}))
	return a, store
}

// One process asks whether a call may run, and ends. Another one has the answer.
func ExampleAgent_ResumeEvents() {
	dir := must(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	ctx := context.Background()

	first, _ := clerk(dir, play(uses(toolCall("1", "pay", `{"number":17}`))))
	result := must(first.Run(ctx, agent.Text("Pay bill 17."), agent.WithRun("bills")))
	fmt.Println(result.Status)

	second, _ := clerk(dir, play(says("Bill 17 is paid.")))
	key := run.Key{ID: "bills"}
	var answers []run.Reply
	for _, q := range must(second.Questions(ctx, key)) {
		fmt.Printf("May %s run with %s?\n", q.Tool, q.Arguments)
		answers = append(answers, q.Allow())
	}
	for event, err := range second.ResumeEvents(ctx, key, answers...) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agent.ToolEnd:
			fmt.Println("→", e.Part.Text)
		case *agent.Output:
			fmt.Println(e.Text)
		}
	}
	// Output:
	// waiting
	// May pay run with {"number":17}?
	// → Bill 17 is paid.
	// Bill 17 is paid.
}

// Who needs no events gets the outcome.
func ExampleAgent_Resume() {
	dir := must(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	ctx := context.Background()
	first, _ := clerk(dir, play(uses(toolCall("1", "pay", `{"number":17}`))))
	must(first.Run(ctx, agent.Text("Pay bill 17."), agent.WithRun("bills")))
	second, _ := clerk(dir, play(says("Bill 17 is paid.")))

	key := run.Key{ID: "bills"}
	var answers []run.Reply
	for _, q := range must(second.Questions(ctx, key)) {
		fmt.Printf("May %s run with %s?\n", q.Tool, q.Arguments)
		answers = append(answers, q.Allow())
	}
	result := must(second.Resume(ctx, key, answers...))
	fmt.Println(result.Status, result.Output)
	// Output:
	// May pay run with {"number":17}?
	// done Bill 17 is paid.
}

// A run for a structured answer may wait for a person, too. Another process continues it.
func ExampleRunAs_waiting() {
	dir := must(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	ctx := context.Background()
	type receipt struct {
		Number int `json:"number"`
	}
	first, _ := clerk(dir, play(uses(toolCall("1", "pay", `{"number":17}`))))
	second, _ := clerk(dir, play(uses(toolCall("2", "final_answer", `{"number":17}`))))

	paid, result, err := agent.RunAs[receipt](ctx, first, agent.Text("Pay bill 17."), agent.WithRun("bills"))
	if errors.Is(err, agent.ErrWaiting) { // result.Questions has the questions
		result = must(second.Resume(ctx, run.Key{ID: "bills"}, result.Questions[0].Allow()))
		err = json.Unmarshal([]byte(result.Output), &paid)
	}
	fmt.Println(paid.Number, result.Status, err)
	// Output: 17 done <nil>
}

// A page has lost its stream after some events, and gets the others.
func ExampleAgent_Replay() {
	dir := must(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, _ := clerk(dir, play(uses(toolCall("1", "pay", `{"number":17}`))))

	var lastEventID string // of a server-sent event, which the page sends as Last-Event-ID
	for event, err := range a.Events(ctx, agent.Text("Pay bill 17."), agent.WithRun("bills")) {
		if err != nil {
			log.Fatal(err)
		}
		if _, ok := event.(*agent.ModelEnd); ok {
			lastEventID = event.Position().String()
		}
	}

	position := must(agent.ParsePosition(lastEventID))
	for event, err := range a.Replay(ctx, run.Key{ID: "bills"}, position) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("id: %s, event: %T\n", event.Position(), event) // agent.MarshalEvent has its data
	}
	// Output:
	// id: 4, event: *agent.Asked
	// id: 5, event: *agent.Suspended
}

// A web server keeps the answer, and a worker continues the run.
func ExampleRecover() {
	dir := must(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	ctx := context.Background()
	web, _ := clerk(dir, play(uses(toolCall("1", "pay", `{"number":17}`))))
	waiting := must(web.Run(ctx, agent.Text("Pay bill 17."), agent.WithRun("bills")))

	if err := web.Reply(ctx, run.Key{ID: "bills"}, waiting.Questions[0].Deny("it was paid in cash")); err != nil {
		log.Fatal(err)
	}

	worker, store := clerk(dir, play(says("I did not pay it.")))
	err := agent.Recover(ctx, store, []*agent.Agent{worker}, &agent.RecoverOptions{
		UntilIdle:    true, // without it Recover continues until the context ends
		PollInterval: time.Millisecond,
		OnEvent: func(key run.Key, e agent.Event) {
			if answer, ok := e.(*agent.Output); ok {
				fmt.Println(key.ID+":", answer.Text)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: bills: I did not pay it.
}
