package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
)

// A model with 400 tools searches for those that it needs.
func ExampleDiscover() {
	var tools []adapter.Source
	for i := range 400 {
		tools = append(tools, adapter.Func(fmt.Sprintf("read_valve_%d", i), "Reads the pressure at a valve of the plant.",
			func(context.Context, struct{}) (string, error) { return "7 bar", nil }, &adapter.FuncOptions{Server: "plant"}))
	}
	pay := func(_ context.Context, in struct{ Number int }) (string, error) {
		return fmt.Sprintf("paid %d", in.Number), nil
	}
	tools = append(tools, adapter.Func("pay_invoice", "Pays an invoice.", pay, &adapter.FuncOptions{Server: "bank"}))

	model := agenttest.Play(
		agenttest.CallTools("search_tools", `{"query":"settle an invoice"}`),
		agenttest.CallTools("pay_invoice", `{"Number":7}`),
		agenttest.Say("Invoice 7 is paid."))
	a, err := agent.New(model, &agent.Options{Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	result, err := a.Run(context.Background(), agent.Text("Please pay invoice 7."))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range model.Turns() {
		fmt.Println(p.Tools())
	}
	fmt.Println(result.Output)
	// Output:
	// [search_tools]
	// [search_tools pay_invoice]
	// [search_tools pay_invoice]
	// Invoice 7 is paid.
}

func ExampleDiscover_options() {
	var toolset adapter.Source = adapter.Func("list_files", "Lists files.", func(context.Context, struct{}) (string, error) { return "", nil }, nil)
	model := agenttest.Play()
	byEmbedding := func(_ context.Context, _ string, tools []*adapter.Tool) ([]*adapter.Tool, error) { return tools, nil }
	a, err := agent.New(model, &agent.Options{
		Tools: []adapter.Source{toolset},
		Discover: agent.Discover{
			Threshold: 0.02,                                                        // of the window; -1: never
			Always:    func(t *adapter.Tool) bool { return t.Server() == "files" }, // offered without a search
			Rank:      byEmbedding,
		},
	})
	fmt.Println(a.Name(), err)
	// Output: agent <nil>
}
