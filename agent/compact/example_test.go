package compact_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
)

func ExampleTrim() {
	history := []run.Message{run.Text(run.RoleUser, "Compare the two logs.")}
	for i, log := range []string{strings.Repeat("first log\n", 2000), strings.Repeat("second log\n", 2000), "a table"} {
		id := fmt.Sprint(i)
		history = append(history,
			run.Message{Role: run.RoleAssistant, Parts: []run.Part{{Type: run.PartCall, ID: id, Name: "read", Arguments: "{}"}}},
			run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: id, Name: "read", Text: log}}})
	}
	compactor := compact.Trim(&compact.Options{Window: 10_000, KeepTurns: 1})
	c, err := compactor(context.Background(), history, compact.Budget{})
	if err != nil {
		panic(err)
	}
	history = append(c.Messages, history[c.Replaced:]...)
	for _, m := range history {
		fmt.Printf("%s: %d bytes\n", m.Role, len(m.Parts[0].Text))
	}
	// Output:
	// user: 21 bytes
	// assistant: 0 bytes
	// tool: 1024 bytes
	// assistant: 0 bytes
	// tool: 1024 bytes
	// assistant: 0 bytes
	// tool: 7 bytes
}

func ExampleSummarize() {
	history := []run.Message{run.Text(run.RoleUser, "Find the fault.")}
	for i := range 50 {
		history = append(history, run.Text(run.RoleAssistant, fmt.Sprintf("Step %d: %s", i, strings.Repeat("I look at the next part. ", 20))))
	}
	// This model always gives the same answer.
	m := agenttest.PlayRepeating(agenttest.Say("All parts up to here are sound."))
	c, err := compact.Summarize(m, &compact.Options{Window: 8000})(context.Background(), history, compact.Budget{})
	if err != nil {
		panic(err)
	}
	for _, m := range c.Messages {
		fmt.Println(m.Text())
	}
	fmt.Println(c.Replaced, "of", len(history), "messages are replaced")
	// Output:
	// Find the fault.
	// [Summary of older messages]
	// All parts up to here are sound.
	// 39 of 51 messages are replaced
}
