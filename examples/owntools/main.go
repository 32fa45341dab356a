// Owntools gives a model two Go functions as tools. Their schemas come from their argument types.
//
//	go run ./examples/owntools
//
// The model is a script, so the program needs no key; examples/quickstart shows a real one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
)

// transfer has the arguments of a tool. The descriptions are for the model. A field without omitempty is required.
type transfer struct {
	To     string  `json:"to" jsonschema:"who gets the money"`
	Amount float64 `json:"amount" jsonschema:"in euros" minimum:"1"`
}

func main() {
	money := 100.0
	balance := adapter.Func("balance", "Tells the balance of the account.", func(context.Context, struct{}) (float64, error) {
		return money, nil
	}, &adapter.FuncOptions{ReadOnly: true}) // may run concurrently, and again after a crash
	pay := adapter.Func("pay", "Sends money.", func(_ context.Context, t transfer) (string, error) {
		if t.Amount > money {
			return "", fmt.Errorf("%.2f is more than the balance of %.2f", t.Amount, money) // the model reads it
		}
		money -= t.Amount
		return fmt.Sprintf("%s has got %.2f.", t.To, t.Amount), nil
	}, nil)

	model := agenttest.Play(
		agenttest.CallTools("pay", `{"to":"Ann","amount":250}`),
		agenttest.CallTools("balance", `{}`),
		agenttest.CallTools("pay", `{"to":"Ann","amount":100}`),
		agenttest.Say("There was not enough for 250, so Ann has got 100."),
	)
	assistant := must(agent.New(model, &agent.Options{Tools: []adapter.Source{balance, pay}}))
	for event, err := range assistant.Events(context.Background(), agent.Text("Send Ann 250, or all I have.")) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agent.ToolStart:
			fmt.Printf("%s %s\n", e.Name, e.Arguments)
		case *agent.ToolEnd:
			fmt.Println("  →", e.Part.Text)
		case *agent.Output:
			fmt.Println(e.Text)
		}
	}
}

// must ends the program on an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
