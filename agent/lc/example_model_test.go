package lc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/prompts"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/langchain"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
)

// A model of langchaingo is the model of an agent, and the agent is a step between chains of langchaingo.
func ExampleModel() {
	ctx := context.Background()
	llm := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Sunny in Oslo."), says("Sol i Oslo."))

	a, err := agent.New(lc.Model(llm, nil), &agent.Options{Tools: []adapter.Source{forecast()}})
	if err != nil {
		log.Fatal(err)
	}
	translate := chains.NewLLMChain(llm, prompts.NewPromptTemplate("Into Norwegian: {{.text}}", []string{"text"}))
	both, err := chains.NewSimpleSequentialChain([]chains.Chain{lc.Chain(a), translate})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := chains.Run(ctx, both, "How is the weather in Oslo?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: Sol i Oslo.
}

// An agent of langchaingo uses the same model, and the tools of an adapter.
func ExampleModel_langchaingo() {
	llm := play(
		says("Thought: Do I need to use a tool? Yes\nAction: forecast\nAction Input: {\"city\":\"Oslo\"}"),
		says("Thought: Do I need to use a tool? No\nAI: Take sunglasses."),
	)
	executor := agents.NewExecutor(agents.NewConversationalAgent(llm, langchain.Tools(forecast())), agents.WithMemory(memory.NewConversationBuffer()))
	answer, err := chains.Run(context.Background(), executor, "What do I need in Oslo?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: Take sunglasses.
}
