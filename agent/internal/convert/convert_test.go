package convert_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

var (
	openAI       = convert.Rules{}
	anthropic    = convert.Rules{SingleParts: true, NoBlankText: true}
	google       = convert.Rules{MergedResults: true, SystemFirst: true}
	mistral      = convert.Rules{ResultsLast: true}
	everyDialect = []convert.Rules{openAI, anthropic, google, mistral}
)

func message(role run.Role, parts ...run.Part) run.Message {
	return run.Message{Role: role, Parts: parts}
}

func text(s string) run.Part { return run.Part{Type: run.PartText, Text: s} }

func call(id, args string) run.Part {
	return run.Part{Type: run.PartCall, ID: id, Name: "f", Arguments: args}
}

func result(id string, media ...run.Part) run.Part {
	return run.Part{Type: run.PartResult, ID: id, Name: "f", Text: "result of " + id, Media: media}
}

func image(data string) run.Part {
	return run.Part{Type: run.PartImage, MIMEType: "image/png", Data: []byte(data)}
}

func lines(messages []llms.MessageContent) []string {
	var out []string
	for _, m := range messages {
		var b strings.Builder
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			b.WriteString(" " + show(p))
		}
		out = append(out, b.String())
	}
	return out
}

func show(p llms.ContentPart) string {
	switch p := p.(type) {
	case llms.TextContent:
		return fmt.Sprintf("%q", p.Text)
	case llms.BinaryContent:
		return fmt.Sprintf("%s=%s", p.MIMEType, p.Data)
	case llms.ImageURLContent:
		return p.URL + "/" + p.Detail
	case llms.ToolCall:
		return fmt.Sprintf("%s=%s(%s)", p.ID, p.FunctionCall.Name, p.FunctionCall.Arguments)
	case llms.ToolCallResponse:
		return fmt.Sprintf("%s→%q", p.ToolCallID, p.Content)
	}
	return fmt.Sprintf("%T", p)
}

// history has a case of every rule.
func history() []run.Message {
	url := run.Part{Type: run.PartImage, URL: "https://example.com/a.png", Provider: map[string]json.RawMessage{"detail": json.RawMessage(`"low"`)}}
	return []run.Message{
		message(run.RoleSystem, text("s1"), text("s2")),
		message(run.RoleUser, text("a"), text(" "), url, run.Part{Type: run.PartAudio, MIMEType: "audio/wav", URL: "store:1"}),
		message(run.RoleAssistant, run.Part{Type: run.PartReasoning, Text: "hm"}, text(" \n"), call("1", `{"x":1}`), call("2", `[1]`)),
		message(run.RoleTool, result("1", image("png"), run.Part{Type: run.PartAudio, MIMEType: "audio/wav", Data: []byte("wav")}), result("2")),
		message(run.RoleAssistant),
		message(run.RoleUser, run.Part{Type: run.PartSummary, Text: "sum"}, image("mine")),
		message(run.RoleAssistant, text("d")),
	}
}

func toLLMS(messages []run.Message, rules convert.Rules) []llms.MessageContent {
	return convert.ToLLMS(rules, "", messages)
}

func TestToLLMS(t *testing.T) {
	const (
		media  = `human: "From the result of f (call 1):" image/png=png`
		user   = `human: "a" " " https://example.com/a.png/low "[audio/wav at store:1]"`
		recall = `human: "sum" image/png=mine`
	)
	for d, want := range map[convert.Rules][]string{
		openAI: {
			`system: "s1\n\ns2"`, user, `ai: " \n" 1=f({"x":1}) 2=f({})`,
			`tool: 1→"result of 1"`, `tool: 2→"result of 2"`, media, recall, `ai: "d"`,
		},
		anthropic: {
			`system: "s1\n\ns2"`, `human: "a" https://example.com/a.png/low "[audio/wav at store:1]"`,
			`ai: 1=f({"x":1})`, `ai: 2=f({})`, `tool: 1→"result of 1"`, `tool: 2→"result of 2"`, media, recall, `ai: "d"`,
		},
		google: {
			`system: "s1\n\ns2"`, user, `ai: " \n" 1=f({"x":1}) 2=f({})`,
			`tool: 1→"result of 1" 2→"result of 2"`, media, recall, `ai: "d"`,
		},
		mistral: {
			`system: "s1\n\ns2"`, user, `ai: " \n" 1=f({"x":1}) 2=f({})`,
			`tool: 1→"result of 1"`, `tool: 2→"result of 2"`, `ai: "(The conversation was interrupted here.)"`, recall, `ai: "d"`,
		},
	} {
		messages := history()
		check.Same(t, d, lines(toLLMS(messages, d)), want)
		check.Same(t, "the history", messages, history())
	}
}

// TestArguments holds that a provider never decodes anything but an object.
func TestArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"x":1}`: `{"x":1}`, ` {} `: ` {} `, `null`: `{}`, `"x"`: `{}`, `{"x":`: `{}`, ``: `{}`, `[]`: `{}`, `{} {}`: `{}`,
	} {
		got := toLLMS([]run.Message{message(run.RoleAssistant, call("1", arguments))}, openAI)
		check.Equal(t, arguments, got[0].Parts[0].(llms.ToolCall).FunctionCall.Arguments, want)
	}
}

// TestOrder has system messages at the beginning and later, and messages that a provider refuses where they are: blank
// texts, and any but its model's after results.
func TestOrder(t *testing.T) {
	one, two, user, late := run.Text(run.RoleSystem, "one"), run.Text(run.RoleSystem, "two"), run.Text(run.RoleUser, "go"), run.Text(run.RoleSystem, "late")
	blank, empty, tool := run.Text(run.RoleSystem, " \n"), message(run.RoleUser), message(run.RoleTool, result("1"))
	type history = []run.Message
	for _, tt := range []struct {
		rules    convert.Rules
		system   string
		messages history
		want     []string
	}{
		{openAI, "be", nil, []string{`system: "be"`}},
		{openAI, "be", history{one, two, user, late}, []string{`system: "be\n\none\n\ntwo"`, `human: "go"`, `system: "late"`}},
		{openAI, "", history{one, two, user}, []string{`system: "one\n\ntwo"`, `human: "go"`}},
		{google, "be", history{user, late}, []string{`system: "be"`, `human: "go"`, `human: "late"`}},
		{anthropic, " ", history{blank, user, blank}, []string{`human: "go"`}},
		{mistral, "", history{tool, empty}, []string{`tool: 1→"result of 1"`}},
		{mistral, "", history{tool, late, user}, []string{`tool: 1→"result of 1"`, `ai: "(The conversation was interrupted here.)"`, `system: "late"`, `human: "go"`}},
	} {
		check.Same(t, fmt.Sprint(tt.want), lines(convert.ToLLMS(tt.rules, tt.system, tt.messages)), tt.want)
	}
}

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
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{struct{ llms.ContentPart }{}, llms.CachedContent{ContentPart: llms.TextContent{Text: "c"}},
			llms.ImageURLContent{URL: "data:image/png;base64,cG5n"}, llms.ImageURLContent{URL: "data:image/png;base64,?"},
			llms.ImageURLContent{URL: "data:image/bmp;base64,Qk0="}}},
	})
	want := []run.Message{
		run.Text(run.RoleUser, "a"),
		run.Text(run.RoleUser, "b"),
		message(run.RoleAssistant, call("1", "{"), run.Part{Type: run.PartCall, ID: "2"}),
		message(run.RoleTool, run.Part{Type: run.PartResult, ID: "1", Name: "f", Text: "r"}, run.Part{Type: run.PartResult, ID: "2"}),
		message(run.RoleUser, text("c"), image("png"), run.Part{Type: run.PartImage, URL: "data:image/png;base64,?"},
			run.Part{Type: run.PartImage, URL: "data:image/bmp;base64,Qk0="}),
	}
	check.Same(t, "messages", got, want)
	check.Equal(t, "the first error", fmt.Sprint(err), `message 3: part 0: tool call "2" without a function`)
}

// TestFromResponse joins the blocks of langchaingo's Anthropic provider.
func TestFromResponse(t *testing.T) {
	response := &llms.ContentResponse{Choices: []*llms.ContentChoice{
		{GenerationInfo: map[string]any{"ThinkingContent": "hm. ", "OutputTokens": 4}, StopReason: "tool_use"},
		{Content: "a", ReasoningContent: "ah.", GenerationInfo: map[string]any{"ThinkingContent": "ah."}},
		{Content: "b", ToolCalls: []llms.ToolCall{{ID: "1", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: `{"x":1}`}}}},
		{ToolCalls: []llms.ToolCall{{ID: "2"}}, GenerationInfo: map[string]any{"OutputTokens": 5, "Model": "m"}},
		{FuncCall: &llms.FunctionCall{Name: "old"}},
		{Content: "<thinking>x</thinking>y", GenerationInfo: map[string]any{"ThinkingContent": "x"}},
	}}
	want := run.Message{Role: run.RoleAssistant, Model: "m", Parts: []run.Part{
		{Type: run.PartReasoning, Text: "hm. "}, {Type: run.PartReasoning, Text: "ah."}, text("a"), text("b"),
		call("1", `{"x":1}`), {Type: run.PartCall, ID: "2", Arguments: "{}"},
		{Type: run.PartCall, Name: "old", Arguments: "{}"}, text("<thinking>x</thinking>y"),
	}}
	got := convert.FromResponse(response)
	check.Same(t, "message", got.Message, want)
	check.That(t, got.Finish == "tool_use" && got.Usage.Output == 4, "got %+v, want the last reason and the first count", got)
	check.Same(t, "no response", convert.FromResponse(nil).Message, run.Message{Role: run.RoleAssistant})
}

func TestUsage(t *testing.T) {
	type mistral struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	}
	for name, test := range map[string]struct {
		info map[string]any
		want run.Usage
	}{
		"none":      {nil, run.Usage{}},
		"openai":    {map[string]any{"PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5, "PromptCachedTokens": 1, "ReasoningTokens": 1}, run.Usage{Input: 3, Output: 2, Total: 5, Cached: 1, Reasoning: 1}},
		"anthropic": {map[string]any{"InputTokens": 3, "OutputTokens": 2, "CacheReadInputTokens": 9, "CacheCreationInputTokens": 4}, run.Usage{Input: 16, Output: 2, Total: 18, Cached: 9, CacheWrite: 4}},
		"ours":      {map[string]any{"PromptTokens": 16, "CompletionTokens": 2, "TotalTokens": 18, "PromptCachedTokens": 9, "CacheCreationInputTokens": 4}, run.Usage{Input: 16, Output: 2, Total: 18, Cached: 9, CacheWrite: 4}},
		"google":    {map[string]any{"input_tokens": int32(3), "output_tokens": int32(2), "total_tokens": int32(6), "PromptTokens": int32(3), "CachedTokens": int32(1), "CacheReadInputTokens": int32(1), "ThinkingTokens": 0}, run.Usage{Input: 3, Output: 3, Total: 6, Cached: 1, Reasoning: 1}},
		"bedrock":   {map[string]any{"input_tokens": int64(3), "output_tokens": float64(2)}, run.Usage{Input: 3, Output: 2, Total: 5}},
		"unsigned":  {map[string]any{"input_tokens": uint8(3)}, run.Usage{Input: 3, Total: 3}},
		"mistral":   {map[string]any{"usage": mistral{3, 2, 5}}, run.Usage{Input: 3, Output: 2, Total: 5}},
		"nonsense":  {map[string]any{"input_tokens": "three", "output_tokens": -2, "usage": make(chan int)}, run.Usage{}},
		"absurd":    {map[string]any{"input_tokens": uint64(1 << 63), "output_tokens": 1e300}, run.Usage{Input: 1 << 40, Output: 1 << 40, Total: 1 << 41}},
	} {
		got := convert.FromResponse(&llms.ContentResponse{Choices: []*llms.ContentChoice{{GenerationInfo: test.info}}}).Usage
		check.Same(t, name, got, test.want)
	}
}

var hi = []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "Hi")}

// replying yields these deltas, then the error.
func replying(err error, deltas ...model.Delta) func(*model.Request, *llms.CallOptions) iter.Seq2[model.Delta, error] {
	return func(*model.Request, *llms.CallOptions) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(model.Delta{}, err)
			}
		}
	}
}

func TestGenerate(t *testing.T) {
	reply := &model.Response{
		Message: message(run.RoleAssistant, run.Part{Type: run.PartReasoning, Text: "hm"}, text("a"), run.Part{Type: run.PartReasoning, Text: "ah"}, call("1", "{}")),
		ID:      "id", Finish: "tool_calls", Warning: "careful", Usage: run.Usage{Input: 3, Output: 2, Total: 5, Cached: 1},
	}
	var streamed []string
	got, err := convert.Generate(t.Context(), hi, []llms.CallOption{llms.WithStreamingReasoningFunc(func(_ context.Context, thought, piece []byte) error {
		streamed = append(streamed, string(thought)+"/"+string(piece))
		return nil
	})}, replying(nil, model.Delta{Reasoning: "hm"}, model.Delta{Text: "a"}, model.Delta{Response: reply}))
	function := &llms.FunctionCall{Name: "f", Arguments: "{}"}
	want := &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: "a", ReasoningContent: "hm\n\nah", StopReason: "tool_calls", FuncCall: function,
		ToolCalls: []llms.ToolCall{{ID: "1", Type: "function", FunctionCall: function}},
		GenerationInfo: map[string]any{
			"Model": "", "ID": "id", "Warning": "careful", "PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5,
			"PromptCachedTokens": 1, "CacheCreationInputTokens": 0, "ReasoningTokens": 0,
		},
	}}}
	check.Must(t, err)
	check.Same(t, "response", got, want)
	check.Equal(t, "streamed", strings.Join(streamed, " "), "hm/ /a")
}

func TestGenerateErrors(t *testing.T) {
	f, failed := &llms.FunctionDefinition{Name: "f"}, errors.New("failed")
	failing := func(context.Context, []byte) error { return failed }
	one := func(role llms.ChatMessageType, parts ...llms.ContentPart) []llms.MessageContent {
		return []llms.MessageContent{{Role: role, Parts: parts}}
	}
	for _, tt := range []struct {
		want     string
		messages []llms.MessageContent
		option   llms.CallOption
	}{
		{"more than one candidate", hi, llms.WithN(2)},
		{`message 0: role "x" is unknown`, one("x"), nil},
		{`tool choice "sometimes"`, hi, llms.WithToolChoice("sometimes")},
		{"tool choice 3 is not", hi, llms.WithToolChoice(3)},
		{"tool choice llms.ToolChoice{", hi, llms.WithToolChoice(llms.ToolChoice{})},
		{"tool 0 is not a function", hi, llms.WithTools([]llms.Tool{{Type: "web"}})},
		{`tool "f": parameters`, hi, llms.WithTools([]llms.Tool{{Function: &llms.FunctionDefinition{Name: "f", Parameters: json.RawMessage("{")}}})},
		{"without a function", one(llms.ChatMessageTypeAI, llms.ToolCall{ID: "a"}), nil},
		{`role "user" cannot have a part of type "call"`, one(llms.ChatMessageTypeHuman, llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "f"}}), nil},
		{`role "tool" cannot have a part of type "text"`, one(llms.ChatMessageTypeTool, llms.TextPart("x")), nil},
		{"failed", hi, llms.WithFunctions([]llms.FunctionDefinition{*f})},
		{"failed", hi, llms.WithStreamingFunc(failing)},
		{"failed", hi, llms.WithStreamingReasoningFunc(func(context.Context, []byte, []byte) error { return failed })},
		{"failed", hi, llms.WithTemperature(1)},
	} {
		var options []llms.CallOption
		if tt.option != nil {
			options = append(options, tt.option)
		}
		check.Text(t, check.Err(convert.Generate(t.Context(), tt.messages, options, replying(failed, model.Delta{Text: "a"}))), tt.want)
	}
	check.Text(t, check.Err(convert.Generate(t.Context(), hi, nil, replying(nil))), "no reply")
}
