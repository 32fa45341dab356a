package openaimodel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

func atOpenAI(t *testing.T, host *fakehost.OpenAI, name string, o *Options) *Model {
	t.Helper()
	server := memhttp.New(host)
	t.Cleanup(server.Close)
	cfg := openai.DefaultConfig("key-1")
	cfg.HTTPClient = server.Client()
	return check.Value(New(cfg, name, o))(t)
}

func generate(t *testing.T, m model.Model, r *model.Request) (*model.Response, string, error) {
	t.Helper()
	text := ""
	for d, err := range m.Generate(t.Context(), r) {
		if err != nil {
			return nil, text, err
		}
		if d.Response != nil {
			return d.Response, text, nil
		}
		text += d.Text
	}
	t.Fatal("got no reply and no error")
	return nil, "", nil
}

// twoCalls thinks, calls twice, and answers when it has results.
func twoCalls(r *fakehost.OpenAIRequest) []fakehost.Block {
	if !strings.Contains(string(r.Body), `"weather"`) || strings.Contains(string(r.Body), "sunny") {
		return []fakehost.Block{{Type: "reasoning", Text: "Done."}, {Type: "text", Text: "It is sunny."}}
	}
	return []fakehost.Block{
		{Type: "reasoning", Text: "Two cities."}, {Type: "call", ID: "call_1", Name: "weather", Arguments: `{"city": "Rome"}`},
		{Type: "reasoning", Text: "And Oslo."}, {Type: "call", ID: "call_2", Name: "weather", Arguments: `{"city":"Oslo"}`},
	}
}

func results(reply *model.Response) []run.Message {
	return []run.Message{reply.Message,
		{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "call_1", Text: "sunny", Media: []run.Part{{Type: run.PartImage, MIMEType: "image/png", Data: []byte("png")}}}}},
		{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "call_2", Text: "rainy", IsError: true}}}}
}

// Each model is asked with each effort, tools or none, streamed and whole, for any text and for JSON: no request is refused.
func TestModelsOfOpenAI(t *testing.T) {
	object := json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	half, asked := 0.5, 0
	for _, name := range fakehost.OpenAIModels() {
		host := &fakehost.OpenAI{Key: "key-1", Reply: twoCalls}
		m := atOpenAI(t, host, name, nil)
		for _, effort := range append([]string{""}, fakehost.OpenAIEfforts(name)...) {
			for n := range 32 {
				r := &model.Request{System: "Be brief.", Messages: []run.Message{run.Text(run.RoleUser, "Weather?")}, Effort: effort, Stream: n&1 > 0, CacheKey: strings.Repeat("conversation", 9)}
				if n&2 > 0 {
					r.Tools = []model.Tool{{Name: "weather", Schema: object, Strict: n&4 > 0}, {Name: "odd.name"}}
					r.ToolChoice, r.ToolName = []model.Choice{model.ChoiceAuto, model.ChoiceTool}[n>>3&1], "weather"
				}
				if n&16 > 0 {
					r.Format, r.Temperature, r.MaxTokens, r.Stop = object, &half, 5, []string{"END"}
				}
				reply, text, err := generate(t, m, r)
				asked++
				if err == nil && reply.Finish == model.FinishCalls {
					r.Messages, r.Endpoint, r.ToolChoice = append(r.Messages, results(reply)...), reply.Endpoint, model.ChoiceAuto
					reply, text, err = generate(t, m, r)
					asked++
				}
				check.Require(t, err == nil, "%s, effort %q, %05b: %v", name, effort, n, err)
				check.Require(t, reply.Message.Text() == "It is sunny." && (!r.Stream || text == "It is sunny."),
					"%s, effort %q, %05b: got %q, %+v", name, effort, n, text, reply)
			}
		}
		check.That(t, len(host.Invalid()) == 0, "%s: %q", name, host.Invalid())
	}
	t.Logf("%d requests", asked)
}

// Reasoning that was shown is in the message, also if nothing follows it, so that it does not go back.
func TestReasoningWithoutItem(t *testing.T) {
	m, _ := newModel(t, answering(`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}]}`),
		&Options{API: chat.Responses})
	reply, _, err := generate(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Weather?")}})
	check.Must(t, err)
	check.Same(t, "parts", reply.Message.Parts, []run.Part{{Type: run.PartReasoning, Text: "Hm."}})
}

// TestItemsGoBack holds that what the host wants back is in the message, byte for byte, also for another process.
func TestItemsGoBack(t *testing.T) {
	host := &fakehost.OpenAI{Key: "key-1", Reply: twoCalls}
	r := &model.Request{Messages: []run.Message{{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartText, Text: "Weather?"}, {Type: run.PartFile, MIMEType: "Application/PDF; name=a.pdf", Data: []byte("pdf")}}}},
		Tools: []model.Tool{{Name: "weather"}}, Stream: true}
	reply, _, err := generate(t, atOpenAI(t, host, "gpt-6-astra", nil), r)
	check.Must(t, err)
	var types []string
	for _, p := range reply.Message.Parts {
		types = append(types, fmt.Sprintf("%s %s%s", p.Type, p.Text, p.ID))
	}
	check.Equal(t, "endpoint", reply.Endpoint, "responses")
	check.Same(t, "parts", types, []string{"reasoning Two cities.", "call call_1", "reasoning And Oslo.", "call call_2"})
	stored := check.Value(json.Marshal(results(reply)))(t)
	var read []run.Message
	check.Must(t, json.Unmarshal(stored, &read))
	r.Messages, r.Endpoint = append(r.Messages, read...), reply.Endpoint
	_, _, err = generate(t, atOpenAI(t, host, "gpt-6-astra", nil), r)
	check.Require(t, err == nil, "got %v; refused: %q", err, host.Invalid())
	input := host.Requests()[1].Input
	check.That(t, len(input) == 7 && strings.Contains(string(input[0]), "data:application/pdf;base64,cGRm") && strings.Contains(string(input[5]), "data:image/png;base64,cG5n"),
		"got the input %s", input)
}
