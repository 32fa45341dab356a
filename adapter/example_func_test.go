package adapter_test

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
)

func ExampleFunc() {
	type forecast struct {
		City string `json:"city" jsonschema:"Its name in English"`
		Days int    `json:"days,omitempty" minimum:"1"`
	}
	tool := adapter.Func("forecast", "Tells the weather.", func(_ context.Context, in forecast) (string, error) {
		return fmt.Sprintf("%s: sun for %d days", in.City, max(in.Days, 1)), nil
	}, &adapter.FuncOptions{ReadOnly: true})

	catalog := tool.Catalog(profile.Plain)
	fmt.Printf("%s\n", catalog.Definitions()[0].Function.Parameters)
	for _, arguments := range []string{`{"city":"Rome","days":"3"}`, `{"days":3}`} {
		r := catalog.Call(context.Background(), llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "forecast", Arguments: arguments}})
		fmt.Println(r.Text)
	}
	// Output:
	// {"type":"object","properties":{"city":{"description":"Its name in English","type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}
	// Rome: sun for 3 days
	// Error: arguments of forecast: missing required property "city". Nothing was done. Correct the arguments and call the tool again.
}

func ExampleMerge() {
	hello := func(_ context.Context, in struct{ Name string }) (string, error) { return "Hello, " + in.Name, nil }
	bye := func(_ context.Context, in struct{ Name string }) (string, error) { return "Goodbye, " + in.Name, nil }
	source := adapter.Merge(adapter.Func("hello", "Greets.", hello, nil), adapter.Func("bye", "Takes leave.", bye, nil))

	catalog := source.Catalog(profile.OpenAI)
	for _, tool := range catalog.Tools() {
		call := llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: tool.Name(), Arguments: `{"Name":"Ann"}`}}
		fmt.Println(tool.Name(), "of", tool.Server()+":", catalog.Call(context.Background(), call).Text)
	}
	// Output:
	// hello of local: Hello, Ann
	// bye of local: Goodbye, Ann
}
