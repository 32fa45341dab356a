package convert_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

func random(r *rand.Rand) []run.Message {
	out := []run.Message{}
	for i := range r.IntN(8) {
		user := message(run.RoleUser)
		for range 1 + r.IntN(3) {
			user.Parts = append(user.Parts, randomPart(r))
		}
		out = append(out, user)
		if n := r.IntN(4); n > 0 {
			ai, tool := message(run.RoleAssistant, text("look")), message(run.RoleTool)
			for j := range n {
				id := fmt.Sprintf("%d.%d", i, j)
				ai.Parts = append(ai.Parts, call(id, fmt.Sprintf(`{"x":%d}`, j)))
				tool.Parts = append(tool.Parts, result(id))
			}
			out = append(out, ai, tool)
		}
		out = append(out, run.Text(run.RoleAssistant, "done"))
	}
	if len(out) > 0 && r.IntN(2) == 0 {
		out = append([]run.Message{run.Text(run.RoleSystem, "be")}, out...)
	}
	return out
}

func randomPart(r *rand.Rand) run.Part {
	p := []run.Part{
		text("t"), image("png"),
		{Type: run.PartAudio, MIMEType: "audio/wav", Data: []byte("wav")},
		{Type: run.PartFile, MIMEType: "application/pdf", Data: []byte("pdf")},
		{Type: run.PartImage, URL: "https://example.com/a.png"},
	}[r.IntN(5)]
	if p.URL != "" && r.IntN(2) == 0 {
		p.Provider = map[string]json.RawMessage{"detail": json.RawMessage(`"high"`)}
	}
	return p
}

// TestRoundTrip takes histories to langchaingo and back, in every dialect.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(2000) {
		want := random(rand.New(rand.NewPCG(seed, 1)))
		for _, d := range everyDialect {
			got, err := convert.FromLLMS(toLLMS(want, d))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %+v: %v (-want +got):\n%s", seed, d, err, cmp.Diff(want, got))
			}
		}
	}
}

func TestFromLLMS(t *testing.T) {
	got, err := convert.FromLLMS([]llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeGeneric, "a"),
		llms.TextParts(llms.ChatMessageTypeHuman, "b"),
		{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.ToolCall{ID: "1", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: "{"}}}},
		{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.ToolCall{ID: "2"}}},
		{Role: llms.ChatMessageTypeFunction, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "1", Name: "f", Content: "r"}}},
		{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "2"}}},
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{struct{ llms.ContentPart }{}, llms.CachedContent{ContentPart: llms.TextContent{Text: "c"}}}},
	})
	want := []run.Message{
		run.Text(run.RoleUser, "a"),
		run.Text(run.RoleUser, "b"),
		message(run.RoleAssistant, call("1", "{"), run.Part{Type: run.PartCall, ID: "2"}),
		message(run.RoleTool, run.Part{Type: run.PartResult, ID: "1", Name: "f", Text: "r"}, run.Part{Type: run.PartResult, ID: "2"}),
		run.Text(run.RoleUser, "c"),
	}
	check.Same(t, "messages", got, want)
	check.Equal(t, "the first error", fmt.Sprint(err), `message 3: part 0: tool call "2" without a function`)
}
