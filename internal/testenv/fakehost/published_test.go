package fakehost

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

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
		"few tokens":             {Responses, `{"model":"m","input":[{"role":"user","content":"a"}],"max_output_tokens":15}`, "max_output_tokens"},
		"tool without strict":    {Responses, `{"model":"m","input":[{"role":"user","content":"a"}],"tools":[{"type":"function","name":"f","parameters":{}}]}`, "strict"},
		"thought without an id":  {Responses, `{"model":"m","input":[{"type":"reasoning","summary":[]}]}`, "input"},
		"image without detail":   {Responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x"}]}]}`, "input"},
		"output of a user":       {Responses, `{"model":"m","input":[{"role":"user","content":[{"type":"output_text","text":"a"}]}]}`, "input"},
		"long call_id":           {Responses, `{"model":"m","input":[{"type":"function_call_output","call_id":"` + strings.Repeat("c", 65) + `","output":""}]}`, "input"},
		"chat":                   {Chat, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, ""},
		"the tool of Responses":  {Chat, `{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","name":"f"}]}`, "tools"},
		"no messages":            {Chat, `{"model":"m","messages":[]}`, "messages"},
		"reasoning in a message": {Chat, `{"model":"m","messages":[{"role":"assistant","content":"a","reasoning_content":"b"}]}`, "messages"},
		"five stops":             {Chat, `{"model":"m","messages":[{"role":"user","content":"a"}],"stop":["1","2","3","4","5"]}`, "stop"},
		"messages":               {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`, ""},
		"no max_tokens":          {Messages, `{"model":"m","messages":[{"role":"user","content":"a"}]}`, "max_tokens"},
		"field of another host":  {Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"seed":1}`, "seed"},
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
