package tryout_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

func TestRules(t *testing.T) {
	client := start(t)
	for _, tt := range []struct {
		question string
		want     []string // name and arguments of every call
	}{
		{"What is 17 plus 25?", []string{`demo_add {"a":17,"b":25}`}},
		{"1.5+-2", []string{`demo_add {"a":1.5,"b":-2}`}},
		{"add 3 and 4", []string{`demo_add {"a":3,"b":4}`}},
		{"What is 6 times 7?", []string{`multiply {"a":6,"b":7}`}},
		{"How is the weather in Berlin?", []string{`weather {"city":"Berlin"}`}},
		{"weather in oslo please", []string{`weather {"city":"oslo"}`}},
		{"weather in Минск", []string{`weather {"city":"Минск"}`}}, // a stream has the arguments in two pieces
		{"the weather in New York and Lima, and 1 plus 2?", []string{`weather {"city":"New York"}`, `weather {"city":"Lima"}`, `demo_add {"a":1,"b":2}`}},
		{"Summarize: One plus one. 1 plus 1.", []string{`summarize {"text":"One plus one. 1 plus 1."}`}},
		{"Please give me a summary of this text: abc", []string{`summarize {"text":"abc"}`}},
		{"Book a table", []string{`book_table {}`}},
		{"Please book a nice table for 2 at Da Luigi at eight.", []string{`book_table {"people":2,"restaurant":"Da Luigi"}`}},
		{"Book a table for 4", []string{`book_table {"people":4}`}},
		{"Reserve a table at Luigi for 12 people", []string{`book_table {"people":12,"restaurant":"Luigi"}`}},
		{"Book a table tonight for 3 at Luigi", []string{`book_table {"people":3,"restaurant":"Luigi"}`}},
		{"Book a table for my birthday", []string{`book_table {}`}},
		{"Count to 12", []string{`count {"to":12}`}},
		{"Show me a picture!", []string{`picture {}`}},
		{"call other.tool {\"x\": [1]}", []string{`other.tool {"x": [1]}`}},
		{"call nonsense", []string{`nonsense {}`}},
	} {
		for _, streaming := range []bool{false, true} {
			m := ask(t, client, streaming, request(tt.question))
			check.Same(t, tt.question, calls(m), tt.want)
			check.Equal(t, tt.question, m.Content, "")
		}
	}
}

func TestAnswers(t *testing.T) {
	client := start(t)
	user := func(text string) openai.ChatCompletionMessage {
		return openai.ChatCompletionMessage{Role: "user", Content: text}
	}
	called := func(name string) openai.ChatCompletionMessage {
		return openai.ChatCompletionMessage{Role: "assistant", ToolCalls: []openai.ToolCall{
			{ID: "1", Type: "function", Function: openai.FunctionCall{Name: name, Arguments: "{}"}}}}
	}
	result := func(text string) openai.ChatCompletionMessage {
		return openai.ChatCompletionMessage{Role: "tool", ToolCallID: "1", Content: text}
	}
	picture := openai.ChatCompletionMessage{Role: "user", MultiContent: []openai.ChatMessagePart{
		{Type: "text", Text: "From the result"}, {Type: "image_url", ImageURL: &openai.ChatMessageImageURL{URL: "data:image/png;base64,AA=="}},
	}}
	question := openai.ChatCompletionMessage{Role: "user", MultiContent: []openai.ChatMessagePart{
		picture.MultiContent[1], {Type: "text", Text: "What did I ask before?"},
	}}
	for name, tt := range map[string]struct {
		messages []openai.ChatCompletionMessage
		noTools  bool
		want     string
	}{
		"result":   {messages: []openai.ChatCompletionMessage{user("?"), called("demo_add"), result("17 + 25 = 42")}, want: "The result: 17 + 25 = 42."},
		"unknown":  {messages: []openai.ChatCompletionMessage{user("?"), called("look"), result("found")}, want: "The tool look says: found"},
		"sentence": {messages: []openai.ChatCompletionMessage{user("?"), called("look"), result("It is there.")}, want: "It is there."},
		"picture":  {messages: []openai.ChatCompletionMessage{user("?"), called("picture"), result("a sunset\n[image]"), picture}, want: "Here is the picture: a sunset."},
		"failed":   {messages: []openai.ChatCompletionMessage{user("?"), called("demo_add"), result("Error: no numbers")}, want: "The tool demo_add says: Error: no numbers"},
		"refused":  {messages: []openai.ChatCompletionMessage{user("?"), called("demo_add"), result("Error: denied. Nothing was done.")}, want: "Error: denied. Nothing was done."},
		"attached": {messages: []openai.ChatCompletionMessage{user("Who?"), called("picture"), result("a sunset"), picture, {Role: "assistant", Content: "Here."}, question}, want: "Before that you asked: Who?"},
		"limit":    {messages: []openai.ChatCompletionMessage{user("?"), called("look"), result("found"), user("Answer now.")}, noTools: true, want: "The tool look says: found"},
		"earlier":  {messages: []openai.ChatCompletionMessage{user("Who are you?"), user("What did I ask before?")}, want: "Before that you asked: Who are you?"},
		"help": {messages: []openai.ChatCompletionMessage{user("Hello")}, want: "I am a demo model that follows fixed rules. Try one of these:\n" +
			"- Summarize: <a text>\n- What is 17 plus 25?\n- What is 6 times 7?\n- How is the weather in Berlin?\n- Book a table for 4 at Luigi\n- Count to 5\n- Show me a picture\n" +
			`- call TOOL {"argument": "value"}, with one of the tools demo_add, multiply, weather, summarize, book_table, count, picture`},
		"no tools": {messages: []openai.ChatCompletionMessage{user("1 plus 1")}, noTools: true,
			want: "I am a demo model that follows fixed rules, and I was given no tools that I could use for this."},
		"sampling": {messages: []openai.ChatCompletionMessage{{Role: "system", Content: "Summarize the text."}, user("Version 1.5 is out.  It is\nfast.")},
			noTools: true, want: "Version 1.5 is out."},
		"long": {messages: []openai.ChatCompletionMessage{{Role: "system", Content: "Summarize."}, user(strings.Repeat("é", 200))}, noTools: true,
			want: strings.Repeat("é", 80) + "…"},
	} {
		for _, streaming := range []bool{false, true} {
			req := request("")
			req.Messages = tt.messages
			if tt.noTools {
				req.ToolChoice = "none"
			}
			m := ask(t, client, streaming, req)
			check.Same(t, name, m.Content, tt.want)
			check.Equal(t, name+": calls", len(m.ToolCalls), 0)
		}
	}
}

// Two turns of a conversation must not share the ids of their calls.
func TestCallIDs(t *testing.T) {
	client, req := start(t), request("1 plus 2 and 3 plus 4")
	first := ask(t, client, false, req)
	req.Messages = append(req.Messages, first, openai.ChatCompletionMessage{Role: "user", Content: "5 plus 6"})
	second := ask(t, client, false, req)
	ids := map[string]bool{}
	for _, c := range append(first.ToolCalls, second.ToolCalls...) {
		ids[c.ID] = true
	}
	check.Equal(t, "calls", len(first.ToolCalls)+len(second.ToolCalls), 3)
	check.Equal(t, "ids", len(ids), 3)
}

func TestBadRequests(t *testing.T) {
	server := httptest.NewServer(tryout.ModelHandler())
	defer server.Close()
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"not json":  {"POST", "/v1/chat/completions", "hello", 400, "not JSON"},
		"no shape":  {"POST", "/v1/chat/completions", `{"messages": 5}`, 400, "not JSON of the expected shape"},
		"empty":     {"POST", "/v1/chat/completions", `{}`, 400, "messages is empty"},
		"too large": {"POST", "/v1/chat/completions", `{"messages": "` + strings.Repeat("x", 16<<20) + `"}`, 413, "more than 16777216 bytes"},
		"no path":   {"GET", "/v1/embeddings", "", 404, "no such endpoint: GET"},
		"models":    {"GET", "/v1/models", "", 200, `"id":"demo"`},
	} {
		req := check.Value(http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, strings.NewReader(tt.body)))(t)
		res := check.Value(http.DefaultClient.Do(req))(t)
		defer res.Body.Close()
		body := check.Value(io.ReadAll(res.Body))(t)
		check.Equal(t, name, res.StatusCode, tt.status)
		check.Contains(t, name, string(body), tt.want)
	}
}

// start runs the model like the chatbot.
func start(t *testing.T) *openai.Client {
	t.Helper()
	model := check.Value(tryout.StartModel())(t)
	t.Cleanup(func() { check.NoError(t, model.Close()) })
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = model.BaseURL
	return openai.NewClientWithConfig(cfg)
}

func request(question string) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{
		Model:         tryout.ModelName,
		Messages:      []openai.ChatCompletionMessage{{Role: "user", Content: question}},
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	for _, name := range []string{"demo_add", "multiply", "weather", "summarize", "book_table", "count", "picture"} {
		req.Tools = append(req.Tools, openai.Tool{Type: "function", Function: &openai.FunctionDefinition{
			Name: name, Parameters: map[string]any{"type": "object"}}})
	}
	return req
}

func calls(m openai.ChatCompletionMessage) []string {
	var out []string
	for _, c := range m.ToolCalls {
		out = append(out, c.Function.Name+" "+c.Function.Arguments)
	}
	return out
}

// ask returns the model's message. A streamed message is joined from its pieces.
func ask(t *testing.T, client *openai.Client, streaming bool, req openai.ChatCompletionRequest) openai.ChatCompletionMessage {
	t.Helper()
	var m openai.ChatCompletionMessage
	var finish openai.FinishReason
	if streaming {
		tokens := 0
		m, finish, tokens = collect(t, client, req)
		check.That(t, tokens != 0, "the stream has no usage")
	} else {
		req.StreamOptions = nil
		res := check.Value(client.CreateChatCompletion(t.Context(), req))(t)
		m, finish = res.Choices[0].Message, res.Choices[0].FinishReason
	}
	want := openai.FinishReasonStop
	if len(m.ToolCalls) > 0 {
		want = openai.FinishReasonToolCalls
	}
	check.Equal(t, "finish reason", finish, want)
	return m
}

func collect(t *testing.T, client *openai.Client, req openai.ChatCompletionRequest) (m openai.ChatCompletionMessage, finish openai.FinishReason, tokens int) {
	t.Helper()
	stream := check.Value(client.CreateChatCompletionStream(context.Background(), req))(t)
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return m, finish, tokens
		}
		check.Must(t, err)
		if chunk.Usage != nil {
			tokens = chunk.Usage.TotalTokens
		}
		for _, c := range chunk.Choices {
			m.Content += c.Delta.Content
			if c.FinishReason != "" {
				finish = c.FinishReason
			}
			for _, piece := range c.Delta.ToolCalls {
				if *piece.Index == len(m.ToolCalls) {
					m.ToolCalls = append(m.ToolCalls, openai.ToolCall{ID: piece.ID, Type: piece.Type})
				}
				f := &m.ToolCalls[*piece.Index].Function
				f.Name += piece.Function.Name
				f.Arguments += piece.Function.Arguments
			}
		}
	}
}
