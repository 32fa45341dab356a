package convert_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

var (
	openAI       = convert.Rules{}
	anthropic    = convert.Rules{SingleParts: true, NoBlankText: true}
	google       = convert.Rules{MergedResults: true, SchemaMaps: true}
	mistral      = convert.Rules{ResultsLast: true, NoToolsAtEnd: true}
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

func pngOnly(mime string) bool { return mime == "image/png" }

func toLLMS(messages []run.Message, rules convert.Rules) []llms.MessageContent {
	return convert.ToLLMS(rules, pngOnly, "", messages)
}

func TestToLLMS(t *testing.T) {
	const (
		media  = `human: "From the result of f (call 1):" image/png=png`
		user   = `human: "a" " " https://example.com/a.png/low "[audio/wav at store:1]"`
		recall = `human: "sum" image/png=mine`
	)
	for d, want := range map[convert.Rules][]string{
		openAI: {
			`system: "s1" "s2"`, user, `ai: " \n" 1=f({"x":1}) 2=f({})`,
			`tool: 1→"result of 1"`, `tool: 2→"result of 2"`, media, recall, `ai: "d"`,
		},
		anthropic: {
			`system: "s1\n\ns2"`, `human: "a" https://example.com/a.png/low "[audio/wav at store:1]"`,
			`ai: 1=f({"x":1})`, `ai: 2=f({})`, `tool: 1→"result of 1"`, `tool: 2→"result of 2"`, media, recall, `ai: "d"`,
		},
		google: {
			`system: "s1" "s2"`, user, `ai: " \n" 1=f({"x":1}) 2=f({})`,
			`tool: 1→"result of 1" 2→"result of 2"`, media, recall, `ai: "d"`,
		},
		mistral: {
			`system: "s1" "s2"`, user, `ai: " \n" 1=f({"x":1}) 2=f({})`,
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

func TestSystemPrompt(t *testing.T) {
	h := []run.Message{run.Text(run.RoleSystem, "one"), run.Text(run.RoleSystem, "two"), run.Text(run.RoleUser, "go"), run.Text(run.RoleSystem, "late")}
	for _, step := range []struct {
		system string
		of     int
		want   []string
	}{
		{"be", 0, []string{`system: "be"`}},
		{"be", 1, []string{`system: "be\n\none"`}},
		{"be", 3, []string{`system: "be\n\none\n\ntwo"`, `human: "go"`}},
		{"be", 4, []string{`system: "be\n\none\n\ntwo"`, `human: "go"`, `system: "late"`}},
		{"do", 3, []string{`system: "do\n\none\n\ntwo"`, `human: "go"`}},
		{"do", 1, []string{`system: "do\n\none"`}},
		{"", 3, []string{`system: "one"`, `system: "two"`, `human: "go"`}},
	} {
		got := lines(convert.ToLLMS(openAI, pngOnly, step.system, h[:step.of]))
		check.Same(t, fmt.Sprintf("system %q, %d messages", step.system, step.of), got, step.want)
	}
}
