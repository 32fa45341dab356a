package fakehost

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRequests checks what the host takes, and one of everything that it refuses.
func TestRequests(t *testing.T) {
	h := &Claude{Key: "k"}
	thought := `{"type":"thinking","thinking":"Hm.","signature":"` + h.sign("Hm.") + `"}`
	const (
		user     = `{"role":"user","content":[{"type":"text","text":"go"}]}`
		call     = `{"type":"tool_use","id":"c1","name":"f","input":{}}`
		result   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"1"}],"is_error":false}]}`
		tool     = `,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
		thinking = `,"thinking":{"type":"enabled","budget_tokens":1024}`
		old      = "claude-sonnet-4-5"
	)
	turn := func(blocks ...string) string {
		return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
	}
	mark := `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`
	for name, tt := range map[string]struct{ model, messages, more, want string }{
		"good":                    {old, user, ``, ""},
		"with its thought":        {old, user + "," + turn(thought, call) + "," + result, tool + thinking, ""},
		"no such model":           {"claude-2", user, ``, "model: claude-2"},
		"a field of its own":      {old, user, `,"seed":1`, "request.seed: Extra inputs"},
		"temperature":             {"claude-opus-4-7", user, `,"temperature":0`, "`temperature` is deprecated"},
		"temperature, thinking":   {old, user, thinking + `,"temperature":0.5`, "may only be set to 1"},
		"budget":                  {old, user, `,"thinking":{"type":"enabled","budget_tokens":4096}`, "`max_tokens` must be greater"},
		"small budget":            {old, user, `,"thinking":{"type":"enabled","budget_tokens":1}`, "greater than or equal to 1024"},
		"kind of thinking":        {"claude-opus-5", user, thinking, "not supported for this model"},
		"forced tool":             {old, user, tool + thinking + `,"tool_choice":{"type":"any"}`, "Thinking may not be enabled when tool_choice"},
		"effort":                  {"claude-opus-4-5", user, `,"output_config":{"effort":"max"}`, "output_config.effort"},
		"choice without tools":    {old, user, `,"tool_choice":{"type":"auto"}`, "only be specified while providing tools"},
		"choice of another":       {old, user, tool + `,"tool_choice":{"type":"tool","name":"g"}`, "not found in provided tools"},
		"alternatives":            {old, user, `,"tools":[{"name":"f","input_schema":{"type":"object","anyOf":[]}}]`, "does not support oneOf"},
		"same tools":              {old, user, `,"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`, "must be unique"},
		"no result":               {old, user + "," + turn(call) + "," + user, tool, "without `tool_result` blocks"},
		"no call":                 {old, result, tool, "unexpected `tool_use_id`"},
		"two of a role":           {old, user + "," + user, ``, "role \"user\""},
		"beginning of a reply":    {old, user + "," + turn(`{"type":"text","text":"a"}`), ``, "prefill"},
		"blank":                   {old, `{"role":"user","content":[{"type":"text","text":" "}]}`, ``, "non-whitespace"},
		"another's thought":       {old, user + "," + turn(strings.Replace(thought, h.sign("Hm."), "xx", 1), call) + "," + result, tool + thinking, "Invalid `signature`"},
		"calls without thought":   {old, user + "," + turn(call) + "," + result, tool + thinking, "Expected `thinking`"},
		"calls without tools":     {old, user + "," + turn(call) + "," + result, ``, "must define tools"},
		"an image of the model":   {old, user + "," + turn(`{"type":"image","source":{"type":"url","url":"https://x"}}`) + "," + user, ``, "not allowed in assistant"},
		"an image of bad type":    {old, `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AA=="}}]}`, ``, "image/tiff"},
		"five marks":              {old, `{"role":"user","content":[` + strings.Repeat(mark+",", 4) + mark + `]}`, ``, "maximum of 4 blocks"},
		"more than the model has": {"claude-opus-4-0", user, `,"max_tokens":32001`, "maximum allowed number of output tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			bound := `,"max_tokens":2048`
			if strings.Contains(tt.more, "max_tokens") {
				bound = ""
			}
			_, err := checkClaude([]byte(`{"model":"`+tt.model+`","messages":[`+tt.messages+`]`+bound+tt.more+`}`), h.sign)
			switch {
			case tt.want == "" && err != nil, tt.want != "" && err == nil:
				t.Errorf("got %v, want %q", err, tt.want)
			case err != nil && !strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "by the published schema"):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAccount counts what the cache of prompts reads and writes: a prefix of 1,024 tokens, up to a mark.
func TestAccount(t *testing.T) {
	h := &Claude{}
	long := strings.Repeat("word ", 1000)
	request := func(more string) *ClaudeRequest {
		text := check.Value(json.Marshal(long))(t)
		r, err := checkClaude([]byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"system":[{"type":"text","text":`+string(text)+`,"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"`+more+`"}]}]}`), h.sign)
		check.Must(t, err)
		return r
	}
	first, second := h.account(request("a")), h.account(request("b"))
	check.That(t, first.Read == 0 && first.Written >= 1000 && second.Read == first.Written && second.Written == 0,
		"got %+v and %+v", first, second)
	long = "short"
	u := h.account(request("a"))
	check.That(t, u.Read+u.Written == 0, "got %+v for a short prefix", u)
}
