package langchain_test

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/langchain"
	"github.com/mcpchain/mcpchain/adapter/profile"
)

func ExampleSource() {
	catalog := langchain.Source(tools.Calculator{}).Catalog(profile.Plain)
	r := catalog.Call(context.Background(), llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "calculator", Arguments: `{"input":"6*7"}`}})
	fmt.Println(r.Text)
	// Output: 42
}

func ExampleTools() {
	hello := func(_ context.Context, in struct{ Name string }) (string, error) { return "Hello, " + in.Name, nil }
	for _, tool := range langchain.Tools(adapter.Func("hello", "Greets.", hello, nil)) {
		text, err := tool.Call(context.Background(), `{"Name":"Ann"}`)
		fmt.Println(tool.Name()+":", text, err)
	}
	// Output: hello: Hello, Ann <nil>
}
