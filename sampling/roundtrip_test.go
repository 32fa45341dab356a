package sampling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// made is a tool call of the model, or of a history that the server invents.
type made struct {
	name string // the server's name for the tool
	args string
	text string // text of its result
}

// conversation is a server's side of a conversation with random tool uses.
type conversation struct {
	rand   *rand.Rand
	params *mcp.CreateMessageParams
	turns  [][]made // turns of the assistant so far
	ids    map[string]bool
}

func newConversation(seed uint64) *conversation {
	c := &conversation{rand: rand.New(rand.NewPCG(seed, 0)), ids: map[string]bool{}, params: &mcp.CreateMessageParams{MaxTokens: 100}}
	for i := range 2 + c.rand.IntN(4) {
		name := c.pick("f", "get.f", "get_f", "größe", strings.Repeat("x", 128)) + fmt.Sprint(i)
		c.params.Tools = append(c.params.Tools, &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	c.say("user", &mcp.TextContent{Text: "Hi"})
	for range c.rand.IntN(3) { // an invented history
		var uses []mcp.Content
		var calls []made
		for i := range 1 + c.rand.IntN(4) {
			id := c.pick("call_", "abcdefgh", "an id / with:all ", strings.Repeat("long", 80), "ä") + fmt.Sprint(len(c.turns)) + fmt.Sprint(i)
			m := c.makeCall()
			uses = append(uses, &mcp.ToolUseContent{ID: id, Name: m.name, Input: json.RawMessage(m.args)})
			calls = append(calls, m)
			c.ids[id] = true
		}
		c.answer(uses, calls)
	}
	return c
}

func (c *conversation) pick(of ...string) string { return of[c.rand.IntN(len(of))] }

func (c *conversation) makeCall() made {
	return made{
		name: c.params.Tools[c.rand.IntN(len(c.params.Tools))].Name,
		args: c.pick(`{}`, `{"x":1}`, `{"big":12345678901234567890,"small":1e-400}`, `{"s":"ä\n\"<&>\u2028","l":[1,[2],{}],"n":null}`, `{"x":1.50}`),
		text: fmt.Sprintf("result %d", c.rand.Uint64()),
	}
}

func (c *conversation) say(role string, blocks ...mcp.Content) {
	c.params.Messages = append(c.params.Messages, mcp.SamplingMessage{Role: role, Content: blocks})
}

// answer adds uses and, in any order, their results.
func (c *conversation) answer(uses []mcp.Content, calls []made) {
	c.say("assistant", uses...)
	c.turns = append(c.turns, calls)
	var results []mcp.Content
	i := 0
	for _, b := range uses {
		if use, ok := b.(*mcp.ToolUseContent); ok {
			results = append(results, &mcp.ToolResultContent{ToolUseID: use.ID, Content: []mcp.Content{&mcp.TextContent{Text: calls[i].text}}})
			i++
		}
	}
	c.rand.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	c.say("user", results...)
}

type chatWire struct {
	Messages []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct{ Function struct{ Name string } }
}

// wireNames maps the host's names of tools to the server's names.
func (c *conversation) wireNames(t *testing.T, w *chatWire) map[string]string {
	names := map[string]string{}
	for i, tool := range w.Tools {
		if i < len(c.params.Tools) {
			names[tool.Function.Name] = c.params.Tools[i].Name
		}
	}
	check.That(t, len(names) == len(c.params.Tools), "got %d names of %d tools", len(names), len(c.params.Tools))
	return names
}

// checkWire compares the request to the host with the conversation.
func (c *conversation) checkWire(t *testing.T, w *chatWire) {
	t.Helper()
	names, turn := c.wireNames(t, w), 0
	for i := 0; i < len(w.Messages); i++ {
		calls := w.Messages[i].ToolCalls
		if len(calls) == 0 {
			continue
		}
		check.Require(t, turn != len(c.turns) && len(calls) == len(c.turns[turn]) && len(w.Messages) >= i+1+len(calls),
			"turn %d has other calls than the conversation", turn)
		for k, call := range calls {
			want, result := c.turns[turn][k], w.Messages[i+1+k]
			check.That(t, names[call.Function.Name] == want.name && compacted(call.Function.Arguments) == compacted(want.args),
				"turn %d, call %d: got %s(%s), want %s(%s)", turn, k, call.Function.Name, call.Function.Arguments, want.name, want.args)
			check.That(t, result.Role == "tool" && result.ToolCallID == call.ID && result.Content == want.text,
				"turn %d, call %d: got the result %+v, want %q for %q", turn, k, result, want.text, call.ID)
		}
		turn++
	}
	check.That(t, turn == len(c.turns), "got %d turns with calls, want %d", turn, len(c.turns))
}

func compacted(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return "no JSON: " + s
	}
	return b.String()
}

// reply makes the host's answer with random calls.
func (c *conversation) reply(w *chatWire, names map[string]string) (string, []made) {
	var calls []made
	var wire []map[string]any
	for i := range 1 + c.rand.IntN(4) {
		m := c.makeCall()
		call := map[string]any{"type": "function", "function": map[string]string{"arguments": " " + m.args + "\n"}}
		for _, tool := range w.Tools {
			if names[tool.Function.Name] == m.name {
				call["function"].(map[string]string)["name"] = tool.Function.Name
			}
		}
		if id := c.pick("", "same", "call_", "functions.f:"); id != "" {
			if id != "same" {
				id += fmt.Sprintf("%d_%d", len(c.turns), i)
			}
			call["id"] = id
		}
		wire, calls = append(wire, call), append(calls, m)
	}
	raw := encodeJSON(map[string]any{"choices": []any{map[string]any{
		"message":       map[string]any{"content": c.pick("", "Let me see."), "tool_calls": wire},
		"finish_reason": "tool_calls",
	}}})
	return string(raw), calls
}

// TestRoundTrip lets random conversations go back and forth between a server and every kind of host. With any ids and
// any names of tools, calls and results stay together, in order, with their arguments.
func TestRoundTrip(t *testing.T) {
	for _, kind := range chat.Hosts() {
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(15) {
				newConversation(seed).play(t, kind)
				check.Require(t, !t.Failed(), "seed %d", seed)
			}
		})
	}
}

// play makes the model call tools in three more turns.
func (c *conversation) play(t *testing.T, kind string) {
	t.Helper()
	var h *host
	var calls []made
	h = newHost(t, func(rw http.ResponseWriter, _ *http.Request) {
		var w chatWire
		if err := json.Unmarshal([]byte(h.Last()), &w); err != nil {
			t.Errorf("what the host got: %v", err)
			return
		}
		c.checkWire(t, &w)
		var answer string
		answer, calls = c.reply(&w, c.wireNames(t, &w))
		io.WriteString(rw, answer)
	})
	s := h.sampler(t, &Options{Host: kind})
	for range 3 {
		result, err := s.CreateMessage(t.Context(), question(t, string(encodeJSON(c.params))))
		if err != nil {
			t.Errorf("turn %d: %v", len(c.turns), err)
			return
		}
		var back mcp.SamplingMessage // the server's view
		if err := json.Unmarshal(encodeJSON(result), &back); err != nil {
			t.Error(err)
			return
		}
		c.checkResult(t, back.Content, calls)
		c.answer(back.Content, calls)
	}
}

// checkResult compares the result for the server with the host's answer.
func (c *conversation) checkResult(t *testing.T, blocks []mcp.Content, calls []made) {
	t.Helper()
	n := 0
	for i, b := range blocks {
		use, ok := b.(*mcp.ToolUseContent)
		if !ok {
			_, text := b.(*mcp.TextContent)
			check.That(t, text && i == 0, "block %d is a %T", i, b)
			continue
		}
		if n == len(calls) {
			t.Errorf("got more uses than the %d calls", n)
			return
		}
		check.That(t, use.Name == calls[n].name && compacted(string(use.Input)) == compacted(calls[n].args),
			"use %d: got %s(%s), want %s(%s)", n, use.Name, use.Input, calls[n].name, calls[n].args)
		check.That(t, use.ID != "" && !c.ids[use.ID], "use %d has the id %q, which is empty or taken", n, use.ID)
		c.ids[use.ID] = true
		n++
	}
	check.That(t, n == len(calls), "got %d uses of %d calls", n, len(calls))
}

// spoil breaks the order of a conversation with tool uses, in a random way, and returns the name of that way.
func (c *conversation) spoil() string {
	m := c.params.Messages
	at := 0 // index of a message with results
	for i := range m {
		if isResult(m[i].Content[0]) {
			at = i
		}
	}
	results := m[at].Content
	first := results[0].(*mcp.ToolResultContent)
	ways := []struct {
		name string
		do   func()
	}{
		{"a result is missing", func() { m[at].Content = results[1:] }},
		{"a result twice", func() { m[at].Content = append(results, first) }},
		{"a result of nothing", func() { m[at].Content = append(results, &mcp.ToolResultContent{ToolUseID: "nothing"}) }},
		{"text before results", func() { m[at].Content = append([]mcp.Content{&mcp.TextContent{Text: "x"}}, results...) }},
		{"text after results", func() { m[at].Content = append(results, &mcp.TextContent{Text: "x"}) }},
		{"no results", func() { c.params.Messages = slices.Delete(m, at, at+1) }},
		{"results late", func() { m[at].Content = []mcp.Content{&mcp.TextContent{Text: "x"}}; c.say("user", results...) }},
		{"results of the assistant", func() { m[at].Role = "assistant" }},
		{"uses of the user", func() { m[at-1].Role = "user" }},
		{"results before uses", func() { m[at-1], m[at] = m[at], m[at-1] }},
		{"a use twice", func() { m[at-1].Content = append(m[at-1].Content, m[at-1].Content[len(m[at-1].Content)-1]) }},
		{"arguments are a list", func() {
			m[at-1].Content[0] = &mcp.ToolUseContent{ID: m[at-1].Content[0].(*mcp.ToolUseContent).ID, Name: "f", Input: json.RawMessage(`[]`)}
		}},
		{"a role that there is not", func() { m[0].Role = "tool" }},
		{"a tool twice", func() { c.params.Tools = append(c.params.Tools, c.params.Tools[0]) }},
		{"a call of nothing required", func() { c.params.Tools, c.params.ToolChoice = nil, &mcp.ToolChoice{Mode: "required"} }},
	}
	way := ways[c.rand.IntN(len(ways))]
	way.do()
	return way.name
}

// TestInvalidSequences breaks random conversations. Neither the reviewer nor the model is asked then.
func TestInvalidSequences(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Limits: Limits{Total: Budget{Requests: 1}}, Review: noReview(t)})
	tried := map[string]int{}
	for seed := range uint64(1000) {
		c := newConversation(seed)
		if len(c.turns) == 0 {
			continue
		}
		tried[c.spoil()]++
		wantCode(t, check.Err(s.CreateMessage(t.Context(), c.params)), mcp.CodeInvalidParams)
	}
	check.Equal(t, "ways tried", len(tried), 15)
	h.wantAsked(t, 0)
	check.Equal(t, "requests charged", len(s.governor.allServers.charges), 0)
}
