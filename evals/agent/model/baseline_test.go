package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// Key words find paths, numbers and names in a prompt, wherever they stand.
func TestNames(t *testing.T) {
	for prompt, want := range map[string][]string{
		"How much does Ada have?":                  {"Ada"},
		"Rank the lakes of Chile.":                 {"Chile"},
		"Ada pays 30 to Alan. Then Alan pays 2.5.": {"30", "Alan", "Alan", "2.5"},
		"What is the budget in notes/plan.txt?":    {"notes/plan.txt"},
		"Put \"call Ada\" on my list":              {"Ada"},
		"nothing of this kind":                     nil,
	} {
		if got := names(prompt); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", prompt, got, want)
		}
	}
}

// offered are tools with one text argument each.
func offered(names ...string) (all []llms.Tool) {
	for _, n := range names {
		var tool, argument string
		_, _ = fmt.Sscan(n, &tool, &argument) // both are there
		parameters := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, argument, argument))
		all = append(all, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: tool, Description: "Can " + tool + " of a " + argument, Parameters: parameters}})
	}
	return all
}

// The baseline keyword calls the right tool with the right name, once, and says what it returned.
func TestKeyword(t *testing.T) {
	tools := offered("count_rivers country", "rank_lakes country", "rank_rivers country", "balance owner", "close_account owner")
	for prompt, want := range map[string]suite.Call{
		"Rank the lakes of Chile.":              {Tool: "rank_lakes", Args: []byte(`{"country":"Chile"}`)},
		"What is the balance of Ada's account?": {Tool: "balance", Args: []byte(`{"owner":"Ada"}`)},
	} {
		asked := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, prompt)}
		r, err := keyword().GenerateContent(t.Context(), asked, llms.WithTools(tools))
		if err != nil || len(r.Choices[0].ToolCalls) != 1 {
			t.Fatalf("%q: got %+v, %v", prompt, r, err)
		}
		call := r.Choices[0].ToolCalls[0].FunctionCall
		if call.Name != want.Tool || call.Arguments != string(want.Args) {
			t.Errorf("%q: got %s(%s), want %s(%s)", prompt, call.Name, call.Arguments, want.Tool, want.Args)
		}
		asked = append(asked, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{r.Choices[0].ToolCalls[0]}},
			llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{Name: call.Name, Content: "100"}}})
		if r, err = keyword().GenerateContent(t.Context(), asked, llms.WithTools(tools)); err != nil || r.Choices[0].Content != "100" {
			t.Errorf("%q: got %+v, %v", prompt, r.Choices[0], err)
		}
	}
}

// The baseline random does the same again for a seed, a task and a trial.
func TestRandom(t *testing.T) {
	tools := offered("one a", "two b", "three c", "four d", "five e")
	calls := func(seed uint64, task string, trial int) (said string) {
		m := random(seed, task, trial)
		for n := range maxGuesses {
			c := m.choose("some words to guess from", tools, n)
			said += c.Tool + string(c.Args)
		}
		if m.choose("", tools, maxGuesses) != nil {
			t.Error("it guesses for ever")
		}
		return said
	}
	a := calls(1, "t", 0)
	if again := calls(1, "t", 0); again != a {
		t.Errorf("got %s, and for the same trial %s", a, again)
	}
	if a == calls(2, "t", 0) && a == calls(1, "u", 0) && a == calls(1, "t", 1) {
		t.Error("it does the same for another seed, task or trial")
	}
}
