// Output gets an answer as a Go value. The model is told what does not match the type, and corrects it.
//
//	go run ./examples/output
//
// The model is a script, so the program needs no key; examples/quickstart shows a real one. The
// host of a model of package openaimodel enforces the schema.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
)

// invoice is the answer. Its schema comes from the type and its tags.
type invoice struct {
	Number int    `json:"number" minimum:"1"`
	Due    string `json:"due" jsonschema:"the last day to pay, as 2027-05-03"`
	State  string `json:"state" enum:"open,paid"`
	Lines  []struct {
		Text   string  `json:"text"`
		Amount float64 `json:"amount"`
	} `json:"lines"`
}

func main() {
	model := agenttest.Play(
		agenttest.CallTools("final_answer", `{"number":17,"due":"2027-05-03","state":"unpaid","lines":[{"text":"Tea","amount":3.5}]}`),
		agenttest.CallTools("final_answer", `{"number":17,"due":"2027-05-03","state":"open","lines":[{"text":"Tea","amount":3.5}]}`),
	)
	assistant := must(agent.New(model, nil))
	got, result, err := agent.RunAs[invoice](context.Background(), assistant, agent.Text("Invoice 17, due 3 May 2027: tea 3.50"))
	if err != nil {
		log.Fatal(err)
	}
	second := model.Turns()[1]
	fmt.Println("the model was told:", second.Results()[0])
	fmt.Printf("invoice %d is %s and due %s: %s for %.2f\n", got.Number, got.State, got.Due, got.Lines[0].Text, got.Lines[0].Amount)
	fmt.Println(result.Usage.Turns, "model calls")
}

// must ends the program on an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
