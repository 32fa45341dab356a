package model

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// near reports whether the estimate of a short text is within 15 % of a count.
func near(got float64, want int) bool { return math.Abs(got-float64(want)) <= 0.15*float64(want) }

// Texts have the tokens that o200k_base, the vocabulary of OpenAI's models, makes of them: together within 10 %.
func TestTextTokens(t *testing.T) {
	sum, counted := 0.0, 0
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"prose": {"A run is data, and an agent is a recipe: the state of a run is the fold of its records, and the agent moves it on, turn by turn. Everything that happens comes out of it as an event. With a store each step is durable before the next, so that a run that ends with its process continues in another one. The model reads what goes wrong with a tool, and may try something else: an unknown name, arguments that do not fit, a tool that failed or took too long, one that has changed since it was offered, a server that is gone.", 121},
		"code": {`func (d *dialog) inputOf(c *ModelCall) int64 {
	size := d.sizeOf(c)
	if last := d.state.Last; last.Input > 0 && last.Size > 0 && size >= last.Size {
		return last.Input + (size-last.Size)/tokenBytes
	}
	for i, message := range c.Request.Messages {
		fmt.Printf("%d: %s\n", i, strings.TrimSpace(message.Text()))
	}
	return size / tokenBytes
}`, 99},
		"data": {`{"orders":[{"id":"A-1042","customer":"Ada Lovelace","total":129.5,"currency":"EUR","lines":[{"sku":"tea-250","quantity":3},{"sku":"cup-blue","quantity":1}],"shipped":false},{"id":"A-1043","customer":"Alan Turing","total":18.25,"currency":"EUR","lines":[{"sku":"tea-100","quantity":2}],"shipped":true,"tracking":"JD014600003828392817"}],"next":"/orders?after=A-1043"}`, 120},
		"list": {`# Files

- src/main.go        1,204 bytes   2026-11-20 14:03
- src/server.go     10,882 bytes   2026-11-21 09:47
- docs/guide.md      7,310 bytes   2026-11-22 18:30

| name | calls | p50 | p99 |
|---|---|---|---|
| search | 1,902 | 12 ms | 140 ms |
| fetch | 377 | 96 ms | 1.9 s |
`, 125},
		"german":   {"Die Werkzeuge eines Servers werden dem Modell mit ihren Schemata angeboten. Ruft das Modell ein Werkzeug auf, so prüft der Agent die Argumente, fragt vielleicht eine Person um Erlaubnis und schickt dann den Aufruf.", 48},
		"spanish":  {"Las herramientas de un servidor se ofrecen al modelo con sus esquemas. Cuando el modelo llama a una herramienta, el agente comprueba los argumentos, quizá pide permiso a una persona y después envía la llamada.", 42},
		"russian":  {"Инструменты сервера предлагаются модели вместе с их схемами. Когда модель вызывает инструмент, агент проверяет аргументы, возможно, спрашивает человека и затем отправляет вызов.", 37},
		"chinese":  {"服务器的工具连同其模式一起提供给模型。当模型调用工具时，代理会检查参数，可能会征求某人的同意，然后发送调用。发生故障后，另一个进程会继续执行，而不会重复它。", 51},
		"japanese": {"サーバーのツールは、そのスキーマとともにモデルに提供されます。モデルがツールを呼び出すと、エージェントは引数を確認し、必要に応じて人に許可を求めてから呼び出しを送信します。", 65},
	} {
		got := textTokens(tt.text)
		check.That(t, near(got, tt.want), "%s: got %.1f tokens, want %d: %+.0f %%", name, got, tt.want, 100*(got/float64(tt.want)-1))
		sum, counted = sum+got, counted+tt.want
	}
	check.That(t, math.Abs(sum-float64(counted)) <= 0.1*float64(counted), "got %.0f tokens of all, want %d", sum, counted)
	got := textTokens(strings.Repeat("\x00\xff\u00a0", 1000))
	check.That(t, !(got < 1000) && !(got > 5000), "got %.0f tokens of 3000 odd characters", got)
}

// Requests have the tokens that the hosts count for the examples of their guides: OpenAI's cookbook, How to count
// tokens with tiktoken, for gpt-4o, and platform.claude.com/docs/en/build-with-claude/token-counting.
func TestRequestTokens(t *testing.T) {
	const location = `{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"}`
	ask := []run.Message{run.Text(run.RoleUser, "What's the weather like in San Francisco?")}
	for name, tt := range map[string]struct {
		provider string
		request  Request
		want     int
	}{
		"OpenAI, a tool": {"openai", Request{
			System:   "You are a helpful assistant that can answer to questions about the weather.",
			Messages: []run.Message{run.Text(run.RoleUser, "What's the weather like in Pittsburgh, Pennsylvania?")},
			Tools: []Tool{{Name: "get_current_weather", Description: "Get the current weather in a given location",
				Schema: json.RawMessage(location + `,"unit":{"type":"string","description":"The unit of temperature to return","enum":["celsius","fahrenheit"]}},"required":["location"]}`)}},
		}, 101},
		"Anthropic, text": {"anthropic", Request{
			System: "You are a scientist", Messages: []run.Message{run.Text(run.RoleUser, "Hello, Claude")},
		}, 14},
		"Anthropic, a tool": {"anthropic", Request{
			Messages: ask,
			Tools:    []Tool{{Name: "get_weather", Description: "Get the current weather in a given location", Schema: json.RawMessage(location + `},"required":["location"]}`)}},
		}, 403},
	} {
		got := Tokens(&tt.request, &Info{Provider: tt.provider})
		check.That(t, near(float64(got), tt.want), "%s: got %d tokens, want %d", name, got, tt.want)
	}
}

// Definitions have the tokens that o200k_base makes of them as types, in which OpenAI's models read them.
func TestDefinitionTokens(t *testing.T) {
	for name, tt := range map[string]struct {
		tool Tool
		want int
	}{
		"names alone": {Tool{Name: "move_file", Schema: json.RawMessage(`{"type":"object","properties":{"source":{"type":"string"},"destination":{"type":"string"}},"required":["source","destination"],"additionalProperties":false}`)}, 19},
		"described":   {Tool{Name: "read_text_file", Description: "Read the complete contents of a file from the file system as text.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Where the file is, from the root of the project."},"tail":{"description":"If provided, returns only the last N lines of the file","type":"number"},"head":{"description":"If provided, returns only the first N lines of the file","type":"number"}},"required":["path"]}`)}, 77},
		"nested":      {Tool{Name: "edit_file", Description: "Make line-based edits to a text file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string","description":"Text to search for"},"newText":{"type":"string","description":"Text to replace with"}}}},"dryRun":{"type":"boolean","default":false,"description":"Preview changes"},"mode":{"enum":["fast","careful"]},"at":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`)}, 81},
	} {
		got := Tokens(&Request{Tools: []Tool{tt.tool}}, &Info{})
		check.That(t, near(float64(got), tt.want), "%s: got %d tokens, want %d", name, got, tt.want)
	}
}
