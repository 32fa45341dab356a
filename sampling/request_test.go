package sampling

import (
	"encoding/json"
	"testing"
)

func TestRequestMapping(t *testing.T) {
	tests := []struct{ name, params, want string }{
		{
			"parameters",
			`{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":5,"temperature":0,
			  "systemPrompt":"Be brief.","stopSequences":["a","","b","c","d","e"],"metadata":{"user":"x","model":"y"},
			  "includeContext":"allServers","modelPreferences":{"hints":[{"name":"claude"}]}}`,
			`{"model":"gpt-4.1","max_completion_tokens":5,"temperature":0,"stop":["a","b","c","d"],"stream":false,
			  "messages":[{"role":"system","content":"House rules.\n\nBe brief."},{"role":"user","content":"Hi"}]}`,
		},
		{
			"clamped",
			`{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":1000000}`,
			`{"model":"gpt-4.1","max_completion_tokens":4096,"stream":false,
			  "messages":[{"role":"system","content":"House rules."},{"role":"user","content":"Hi"}]}`,
		},
		{
			"no wish for a number of tokens",
			`{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":0}`,
			`{"model":"gpt-4.1","max_completion_tokens":4096,"stream":false,
			  "messages":[{"role":"system","content":"House rules."},{"role":"user","content":"Hi"}]}`,
		},
		{
			"several blocks",
			`{"maxTokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"What"},
			  {"type":"image","data":"cG5n","mimeType":"image/png"},{"type":"audio","data":"d2F2","mimeType":"audio/x-wav"},
			  {"type":"text","text":"is it?"}]}]}`,
			`{"model":"gpt-4.1","max_completion_tokens":5,"stream":false,"messages":[{"role":"system","content":"House rules."},
			  {"role":"user","content":[{"type":"text","text":"What"},
			   {"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},
			   {"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}},
			   {"type":"text","text":"is it?"}]}]}`,
		},
		{
			"media of the assistant",
			`{"maxTokens":5,"messages":[
			  {"role":"assistant","content":[{"type":"text","text":"Look:"},{"type":"image","data":"cG5n","mimeType":"image/png"}]},
			  {"role":"user","content":{"type":"text","text":"What is it?"}}]}`,
			`{"model":"gpt-4.1","max_completion_tokens":5,"stream":false,"messages":[{"role":"system","content":"House rules."},
			  {"role":"assistant","content":"Look:\n[image image/png, 3 bytes of the assistant, attached to the user's next message]"},
			  {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"text","text":"What is it?"}]}]}`,
		},
		{
			"tools and results",
			`{"maxTokens":5,"tools":[{"name":"get.weather","description":"W","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"now"}],
			  "toolChoice":{"mode":"required"},
			  "messages":[
			  {"role":"user","content":{"type":"text","text":"Weather?"}},
			  {"role":"assistant","content":[{"type":"text","text":"Asking."},
			    {"type":"tool_use","id":"a","name":"get.weather","input":{"city":"Bonn"}},
			    {"type":"tool_use","id":"an id:that is / not plain","name":"now","input":{}}]},
			  {"role":"user","content":[
			    {"type":"tool_result","toolUseId":"an id:that is / not plain","content":[]},
			    {"type":"tool_result","toolUseId":"a","isError":true,"content":[{"type":"text","text":"broken"},{"type":"image","data":"cG5n","mimeType":"image/png"}]}]}]}`,
			`{"model":"gpt-4.1","max_completion_tokens":5,"stream":false,"tool_choice":"required",
			  "tools":[
			    {"type":"function","function":{"name":"get_weather_1juokz7s","description":"W","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},
			    {"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],
			  "messages":[{"role":"system","content":"House rules."},
			  {"role":"user","content":"Weather?"},
			  {"role":"assistant","content":"Asking.","tool_calls":[
			    {"id":"a","type":"function","function":{"name":"get_weather_1juokz7s","arguments":"{\"city\":\"Bonn\"}"}},
			    {"id":"2rbkpyprn","type":"function","function":{"name":"now","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"a","content":"Error: broken\n[image image/png, 3 bytes, attached below]"},
			  {"role":"tool","tool_call_id":"2rbkpyprn","content":"(no output)"},
			  {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]}`,
		},
		{
			"kinds of results",
			`{"maxTokens":5,"toolChoice":{"mode":"none"},"tools":[{"name":"f","inputSchema":{"type":"object"}}],"messages":[
			  {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
			  {"role":"user","content":[
			    {"type":"tool_result","toolUseId":"a","structuredContent":{"n":1},"content":[
			      {"type":"resource_link","uri":"file:///a","name":"A","mimeType":"text/plain","size":3},
			      {"type":"resource","resource":{"uri":"file:///b","text":"code ` + "```" + `\n"}},
			      {"type":"resource","resource":{"uri":"file:///c","mimeType":"application/pdf","blob":"AAAA"}},
			      {"type":"image","data":"AAAA","mimeType":"image/svg+xml"},
			      {"type":"hologram"}]},
			    {"type":"tool_result","toolUseId":"b","structuredContent":{"n":1},"content":[]}]}]}`,
			`{"model":"gpt-4.1","max_completion_tokens":5,"stream":false,"tool_choice":"none",
			  "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],
			  "messages":[{"role":"system","content":"House rules."},
			  {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"a","content":"[resource A file:///a text/plain 3 bytes]\nresource file:///b:\n` + "````\\ncode ```\\n````" + `\n[resource file:///c application/pdf, 3 bytes of binary data]\n[image image/svg+xml, 3 bytes, of a kind that the model does not take]\n[content of unknown type hologram]"},
			  {"role":"tool","tool_call_id":"b","content":"{\"n\":1}"}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer, `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}`))
			p := question(t, tt.params)
			before, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			s := h.sampler(t, &Options{System: "House rules."})
			if _, err := s.CreateMessage(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			equalJSON(t, h.last(), tt.want)
			after, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			equalJSON(t, string(after), string(before))
		})
	}
}
