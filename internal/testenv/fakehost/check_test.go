package fakehost

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
		"temperature 1, thinking": {old, user, thinking + `,"temperature":1`, ""},
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
		"a system prompt as text": {old, user, `,"system":"be"`, "system"},
		"a mark within a result":  {old, user + "," + turn(call) + "," + strings.Replace(result, `{"type":"text","text":"1"}`, mark, 1), tool, "cache_control is not supported here"},
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
	check.That(t, request("a").System[0].Raw["cache_control"] != nil, "the mark is gone from Raw")
	check.That(t, first.Read == 0 && first.Written >= 1000 && second.Read == first.Written && second.Written == 0,
		"got %+v and %+v", first, second)
	long = "short"
	u := h.account(request("a"))
	check.That(t, u.Read+u.Written == 0, "got %+v for a short prefix", u)
}

// host is a host that says "ok", and the thought and the call of an earlier reply.
func host(t *testing.T) (url, thought, call string) {
	h := &OpenAI{Key: "k", Reply: func(r *OpenAIRequest) []Block {
		if strings.Contains(string(r.Body), "begin") {
			return []Block{{Type: "reasoning", Text: "Hm."}, {Type: "call", ID: "c1", Name: "f", Arguments: "{}"}}
		}
		return []Block{{Type: "text", Text: "ok"}}
	}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	_, body := post(t, server.URL+"/v1/responses", "k", `{"model":"gpt-6-astra","store":false,"input":[{"type":"message","role":"user","content":"begin"}]}`)
	var reply struct{ Output []json.RawMessage }
	err := json.Unmarshal([]byte(body), &reply)
	check.Require(t, err == nil && len(reply.Output) == 2, "got %s, %v", body, err)
	return server.URL, string(reply.Output[0]), string(reply.Output[1])
}

func post(t *testing.T, url, key, body string) (status int, reply string) {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+key)
	resp := check.Value(http.DefaultClient.Do(r))(t)
	defer resp.Body.Close()
	return resp.StatusCode, string(check.Value(io.ReadAll(resp.Body))(t))
}

// TestResponses sends what the host takes, and one of everything that it refuses.
func TestResponses(t *testing.T) {
	url, thought, call := host(t)
	const (
		user   = `{"type":"message","role":"user","content":"go"}`
		result = `{"type":"function_call_output","call_id":"c1","output":"1"}`
		tool   = `,"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{},"additionalProperties":false},"strict":true}]`
	)
	for name, tt := range map[string]struct{ model, input, more, want string }{
		"good":               {"gpt-6-astra", user, ``, ""},
		"with its thought":   {"gpt-6-astra", user + "," + thought + "," + call + "," + result, tool, ""},
		"no such model":      {"gpt-3", user, ``, "does not exist"},
		"a field of its own": {"gpt-6-astra", user, `,"top_k":1`, "top_k"},
		"temperature":        {"gpt-6-astra", user, `,"temperature":0.5`, "'temperature' is not supported"},
		"effort":             {"gpt-6-astra", user, `,"reasoning":{"effort":"none"}`, "'reasoning.effort' does not support 'none'"},
		"few tokens":         {"gpt-6-astra", user, `,"max_output_tokens":15`, "max_output_tokens"},
		"encrypted":          {"gpt-4o", user, `,"include":["reasoning.encrypted_content"]`, "Encrypted content is not supported"},
		"long key":           {"gpt-4o", user, `,"prompt_cache_key":"` + strings.Repeat("k", 65) + `"`, "string too long"},
		"loose strict tool":  {"gpt-4o", user, `,"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}]`, "'additionalProperties' is required"},
		"same tools":         {"gpt-4o", user, `,"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false},{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}]`, "Invalid 'tools'"},
		"choice of none":     {"gpt-4o", user, `,"tool_choice":"auto"`, "only allowed when 'tools' are specified"},
		"choice of another":  {"gpt-4o", user, tool + `,"tool_choice":{"type":"function","name":"g"}`, "not found in 'tools'"},
		"without thought":    {"gpt-6-astra", user + "," + call + "," + result, tool, "without its required 'reasoning' item"},
		"thought alone":      {"gpt-6-astra", user + "," + thought, ``, "without its required following item"},
		"another's thought":  {"gpt-6-astra", user + "," + strings.Replace(thought, `"encrypted_content":"`, `"encrypted_content":"QUFB`, 1) + "," + call + "," + result, tool, "could not be verified"},
		"no result":          {"gpt-6-astra", user + "," + thought + "," + call, tool, "No tool output found for function call c1"},
		"no call":            {"gpt-6-astra", user + "," + result, tool, "No tool call found"},
		"output of the user": {"gpt-6-astra", `{"type":"message","role":"user","content":[{"type":"output_text","text":"x"}]}`, ``, "Supported values are: input_text"},
		"no content":         {"gpt-6-astra", `{"type":"message","role":"user","content":[]}`, ``, "empty array"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, url+"/v1/responses", "k", `{"model":"`+tt.model+`","store":false,"input":[`+tt.input+`]`+tt.more+`}`)
			published := strings.Contains(body, "by the published schema") // which may refuse it before the rules do
			check.That(t, (tt.want != "" || status == http.StatusOK) && (tt.want == "" || status == http.StatusBadRequest && (published || strings.Contains(body, tt.want))),
				"got %d %s, want %q", status, body, tt.want)
		})
	}
	status, _ := post(t, url+"/v1/responses", "other", `{}`)
	check.That(t, status == http.StatusUnauthorized, "got %d for another key", status)
	if status, body := post(t, url+"/v1/responses", "k", `{"model":"gpt-4o","input":[`+user+`]}`); status != http.StatusBadRequest || !strings.Contains(body, "'store' must be false") {
		t.Errorf("got %d %s for a request that is stored", status, body)
	}
}

// TestChat is TestResponses of Chat Completions.
func TestChat(t *testing.T) {
	url, _, _ := host(t)
	const (
		user = `{"role":"user","content":"go"}`
		call = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		tool = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	)
	for name, tt := range map[string]struct{ model, messages, more, want string }{
		"good":           {"gpt-4o", user, ``, ""},
		"with a result":  {"gpt-4o", user + "," + call + `,{"role":"tool","tool_call_id":"c1","content":"1"}`, tool, ""},
		"tools, no":      {"gpt-6-astra", user, tool, "Please use /v1/responses instead"},
		"tools, none":    {"gpt-5.6-sol", user, tool + `,"reasoning_effort":"none"`, ""},
		"tools, low":     {"gpt-5.6-sol", user, tool + `,"reasoning_effort":"low"`, "Please use /v1/responses instead"},
		"stop":           {"gpt-5-mini", user, `,"stop":["x"]`, "'stop' is not supported"},
		"unknown":        {"gpt-4o", user, `,"max_tokens":1`, "max_tokens"},
		"no result":      {"gpt-4o", user + "," + call, tool, "must be followed by tool messages"},
		"another result": {"gpt-4o", user + "," + call + `,{"role":"tool","tool_call_id":"c2","content":"1"}`, tool, "must be a response to a preceding message"},
		"no messages":    {"gpt-4o", ``, ``, "Invalid 'messages'"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, url+"/v1/chat/completions", "k", `{"model":"`+tt.model+`","messages":[`+tt.messages+`]`+tt.more+`}`)
			published := strings.Contains(body, "by the published schema")
			check.That(t, (tt.want != "" || status == http.StatusOK) && (tt.want == "" || status == http.StatusBadRequest && (published || strings.Contains(body, tt.want))),
				"got %d %s, want %q", status, body, tt.want)
		})
	}
}

// Requests of each API, and what is wrong with them.
func TestSchemas(t *testing.T) {
	for name, tt := range map[string]struct {
		check       func([]byte) error
		body, wrong string
	}{
		"responses":              {Responses, `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}],"store":false}`, ""},
		"thought, call, output":  {Responses, `{"model":"m","input":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]}`, ""},
		"unknown field":          {Responses, `{"model":"m","input":[{"role":"user","content":"a"}],"stop":["x"]}`, "stop"},
		"unknown effort":         {Responses, `{"model":"m","input":[{"role":"user","content":"a"}],"reasoning":{"effort":"huge"}}`, "effort"},
		"tool without strict":    {Responses, `{"model":"m","input":[{"role":"user","content":"a"}],"tools":[{"type":"function","name":"f","parameters":{}}]}`, "strict"},
		"thought without an id":  {Responses, `{"model":"m","input":[{"type":"reasoning","summary":[]}]}`, "input"},
		"image without detail":   {Responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x"}]}]}`, "input"},
		"long call_id":           {Responses, `{"model":"m","input":[{"type":"function_call_output","call_id":"` + strings.Repeat("c", 65) + `","output":""}]}`, "input"},
		"chat":                   {Chat, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, ""},
		"the tool of Responses":  {Chat, `{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","name":"f"}]}`, "tools"},
		"reasoning in a message": {Chat, `{"model":"m","messages":[{"role":"assistant","content":"a","reasoning_content":"b"}]}`, "messages"},
		"five stops":             {Chat, `{"model":"m","messages":[{"role":"user","content":"a"}],"stop":["1","2","3","4","5"]}`, "stop"},
		"messages":               {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`, ""},
		"no max_tokens":          {Messages, `{"model":"m","messages":[{"role":"user","content":"a"}]}`, "max_tokens"},
		"thought, no signature":  {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a"}]}]}`, "messages"},
		"is_error is a text":     {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":"no"}]}]}`, "messages"},
		"budget of adaptive":     {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"thinking":{"type":"adaptive","budget_tokens":1}}`, "thinking"},
		"marked for a day":       {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1d"}}]}`, "system"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.check([]byte(tt.body))
			check.That(t, (err != nil) == (tt.wrong != "") && (err == nil || strings.Contains(err.Error(), tt.wrong)),
				"got %v, want one about %q", err, tt.wrong)
		})
	}
}
