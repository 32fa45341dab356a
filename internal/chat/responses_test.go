package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
)

const (
	thoughtItem = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Two calls."},{"type":"summary_text","text":"One turn."}],"encrypted_content":"gAAAA=="}`
	lateThought = `{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"gBBBB=="}`
	textItem    = `{"id":"msg_1","type":"message","role":"assistant","phase":"commentary","status":"completed","content":[{"type":"output_text","text":"Let me see.","annotations":[]}]}`
	callItem    = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Rome\"}"}`
	otherCall   = `{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"weather","arguments":"{\"city\":\"Oslo\"}"}`
)

func response(status, items, more string) string {
	return `{"id":"resp_1","object":"response","model":"gpt-6-astra-2026-09-01","status":"` + status + `","output":[` + items + `],` +
		`"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":70}` + more + `}`
}

// events are the official sequence for items, with pieces of the text.
func events(items ...string) (lines []string) {
	add := func(kind, more string) {
		lines = append(lines, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}", kind, kind, len(lines), more))
	}
	add("response.created", `,"response":`+response("in_progress", "", ""))
	add("response.in_progress", `,"response":`+response("in_progress", "", ""))
	for i, item := range items {
		at := fmt.Sprintf(`,"output_index":%d`, i)
		add("response.output_item.added", at+`,"item":{"type":"message","status":"in_progress"}`)
		switch item {
		case thoughtItem:
			add("response.reasoning_summary_part.added", at+`,"summary_index":0,"part":{"type":"summary_text","text":""}`)
			add("response.reasoning_summary_text.delta", at+`,"summary_index":0,"delta":"Two "`)
			add("response.reasoning_summary_text.delta", at+`,"summary_index":0,"delta":"calls."`)
			add("response.reasoning_summary_text.done", at+`,"summary_index":0,"text":"Two calls."`)
			add("response.reasoning_summary_part.added", at+`,"summary_index":1,"part":{"type":"summary_text","text":""}`)
			add("response.reasoning_summary_text.delta", at+`,"summary_index":1,"delta":"One turn."`)
		case textItem:
			add("response.content_part.added", at+`,"content_index":0,"part":{"type":"output_text","text":""}`)
			add("response.output_text.delta", at+`,"content_index":0,"delta":"Let "`)
			add("response.output_text.delta", at+`,"content_index":0,"delta":"me see."`)
			add("response.output_text.done", at+`,"content_index":0,"text":"Let me see."`)
		case callItem, otherCall:
			add("response.function_call_arguments.delta", at+`,"item_id":"fc","delta":"{\"ci"`)
			add("response.function_call_arguments.done", at+`,"item_id":"fc","arguments":"{}"`)
		}
		add("response.a_later_kind", at+`,"x":[1]`)
		add("response.output_item.done", at+`,"item":`+item)
	}
	return lines
}

func completed(kind, r string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"response\":%s}", kind, kind, r)
}

func astra(tools ...Tool) *Request {
	return &Request{Model: "gpt-6-astra", Messages: []Message{Text(User, "Weather in Rome and Oslo?")}, Tools: tools}
}

// TestResponses reads a reply in each of its forms, and sends it back as it came, with results.
func TestResponses(t *testing.T) {
	items := []string{thoughtItem, textItem, callItem, lateThought, otherCall}
	all := events(items...)
	shuffled := append([]string{all[len(all)-1]}, all[:len(all)-1]...) // the last item is done first
	for name, h := range map[string]http.HandlerFunc{
		"whole":              answering(response("completed", strings.Join(items, ","), "")),
		"stream":             streaming(append(all, completed("response.completed", response("completed", strings.Join(items, ","), "")))...),
		"last without items": streaming(append(all, completed("response.completed", response("completed", "", "")))...),
		"out of order":       streaming(append(shuffled, completed("response.completed", response("completed", "", "")))...),
	} {
		t.Run(name, func(t *testing.T) {
			host := newHost(t, h)
			c := host.client(t, openAI, nil)
			text, reasoning := "", ""
			deltas := Deltas{Text: func(s string) error { text += s; return nil }, Reasoning: func(s string) error { reasoning += s; return nil }}
			r := astra(Tool{Name: "weather", Parameters: json.RawMessage(`{"type":"object"}`)})
			var reply *Reply
			var err error
			if name == "whole" {
				reply, err = c.Complete(t.Context(), r)
			} else {
				reply, err = c.Stream(t.Context(), r, deltas)
			}
			check.Must(t, err)
			check.That(t, name == "whole" || text == "Let me see." && reasoning == "Two calls.\n\nOne turn.",
				"got the pieces %q and %q", text, reasoning)
			check.That(t, reply.Text == "Let me see." && reply.Reasoning == "Two calls.\n\nOne turn." && reply.Finish == FinishToolCalls && len(reply.ToolCalls) == 2 && *reply.Usage == (Usage{Prompt: 30, Completion: 40, Total: 70, Cached: 10, Reasoning: 20}),
				"got %+v with %+v", reply, reply.Usage)
			r.Messages = append(r.Messages, Message{Role: Assistant, Items: reply.Items},
				Message{Role: ToolRole, ToolCallID: "call_1", Parts: []Part{{Text: "sun"}}},
				Message{Role: ToolRole, ToolCallID: "call_2", Parts: []Part{{Text: "rain"}, {Image: &Image{MIMEType: "image/png", Data: []byte("png")}}}})
			_, err = c.Complete(t.Context(), r)
			check.Require(t, err == nil || name != "whole", "%v", err)
			var sent struct{ Input []json.RawMessage }
			check.Must(t, json.Unmarshal([]byte(host.Last()), &sent))
			want := []string{
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"Weather in Rome and Oslo?"}]}`, thoughtItem,
				`{"type":"message","role":"assistant","content":"Let me see.","phase":"commentary"}`,
				`{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Rome\"}"}`, lateThought,
				`{"type":"function_call","call_id":"call_2","name":"weather","arguments":"{\"city\":\"Oslo\"}"}`,
				`{"type":"function_call_output","call_id":"call_1","output":"sun"}`,
				`{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"rain"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"}]}`,
			}
			var got []string
			for _, item := range sent.Input {
				got = append(got, string(item))
			}
			check.Same(t, "sent back", got, want)
		})
	}
}

// TestResponsesRemembered gives a caller that keeps no items, as a server that samples, the thoughts back by the memory.
func TestResponsesRemembered(t *testing.T) {
	host := newHost(t, answering(response("completed", thoughtItem+","+callItem, "")))
	c := host.client(t, openAI, nil)
	r := astra(Tool{Name: "weather"})
	reply := check.Value(c.Complete(t.Context(), r))(t)
	r.Messages = append(r.Messages, Message{Role: Assistant, ToolCalls: reply.ToolCalls}, Message{Role: ToolRole, ToolCallID: "call_1", Parts: []Part{{Text: "sun"}}})
	check.Must(t, check.Err(c.Complete(t.Context(), r)))
	check.Contains(t, "the thought before its call", host.Last(), thoughtItem+`,{"type":"function_call"`)
}

// TestResponsesEmptyTexts sends texts that are empty, as langchaingo's agents do, in a form that the host takes.
func TestResponsesEmptyTexts(t *testing.T) {
	host := newHost(t, answering(response("completed", textItem, "")))
	r := astra(Tool{Name: "f"})
	r.Messages = append(r.Messages,
		Message{Role: Assistant, Parts: []Part{{}}, ToolCalls: []ToolCall{{ID: "c", Name: "f"}}},
		Message{Role: ToolRole, ToolCallID: "c", Parts: []Part{{}}})
	check.Must(t, check.Err(host.client(t, openAI, nil).Complete(t.Context(), r)))
	var sent struct{ Input []json.RawMessage }
	check.Must(t, json.Unmarshal([]byte(host.Last()), &sent))
	check.Equal(t, "", string(sent.Input[2]), `{"type":"function_call_output","call_id":"c","output":""}`)
}

// TestResponsesLastThought leaves out a thought that nothing follows, as an agent may drop the call that did.
func TestResponsesLastThought(t *testing.T) {
	host := newHost(t, answering(response("completed", textItem, "")))
	r := astra()
	r.Messages = append(r.Messages, Message{Role: Assistant, Items: []Item{
		{Raw: json.RawMessage(thoughtItem)}, {Text: &ItemText{Text: "Let me see."}}, {Raw: json.RawMessage(lateThought)},
	}}, Text(User, "Go on."))
	check.Must(t, check.Err(host.client(t, openAI, nil).Complete(t.Context(), r)))
	sent := host.Last()
	check.That(t, strings.Contains(sent, "rs_1") && !strings.Contains(sent, "rs_2"), "sent %s, want only the thought before the text", sent)
}

// TestResponsesRequests has the parameters of requests.
func TestResponsesRequests(t *testing.T) {
	loose := `{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}`
	for name, tt := range map[string]struct {
		model   string
		request Request
		want    string // without model, input and store
	}{
		"plain":       {"gpt-6-sol", Request{CacheKey: strings.Repeat("k", 70)}, `{"include":["reasoning.encrypted_content"],"prompt_cache_key":"` + digest(strings.Repeat("k", 70), 40) + `"}`},
		"temperature": {"gpt-6-astra", Request{Temperature: new(0.5), MaxTokens: 9, Stop: []string{"x"}}, `{"include":["reasoning.encrypted_content"],"max_output_tokens":16}`},
		"effort":      {"gpt-5.6-sol", Request{ReasoningEffort: "high"}, `{"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high"}}`},
		"no effort":   {"gpt-5.6-sol", Request{ReasoningEffort: "none", Temperature: new(0.5)}, `{"include":["reasoning.encrypted_content"],"reasoning":{"effort":"none"},"temperature":0.5}`},
		"tools": {"gpt-6-astra", Request{Tools: []Tool{{Name: "f"}, {Name: "g.h", Strict: true, Parameters: json.RawMessage(`{"type":"object"}`)}}, ToolChoice: ToolChoice{Named, "f"}},
			`{"include":["reasoning.encrypted_content"],"tools":[` + loose + `,{"type":"function","name":"g_h_` + digest("g.h0", 8) + `","parameters":{"type":"object"},"strict":true}],"tool_choice":{"type":"function","name":"f"}}`},
		"none":   {"gpt-6-astra", Request{Tools: []Tool{{Name: "f"}}, ToolChoice: ToolChoice{Choice: None}}, `{"include":["reasoning.encrypted_content"],"tools":[` + loose + `],"tool_choice":"none"}`},
		"format": {"gpt-6-astra", Request{Format: &Format{"a", json.RawMessage(`{"type":"object"}`)}}, `{"include":["reasoning.encrypted_content"],"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"},"strict":true}}}`},
		"JSON":   {"gpt-6-astra", Request{JSON: true}, `{"include":["reasoning.encrypted_content"],"text":{"format":{"type":"json_object"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHost(t, answering(response("completed", textItem+","+callItem, "")))
			r := tt.request
			r.Model, r.Messages = tt.model, []Message{
				Text(System, "Be brief."), Text(User, "Hi"), Text(System, "Today is Monday."),
				{Role: Assistant, ToolCalls: []ToolCall{{ID: "c", Name: "f", Arguments: "{"}}}, {Role: ToolRole, ToolCallID: "c", Parts: []Part{{Text: "It is not JSON."}}},
			}
			check.Must(t, check.Err(host.client(t, openAI, nil).Complete(t.Context(), &r)))
			var got map[string]json.RawMessage
			check.Must(t, json.Unmarshal([]byte(host.Last()), &got))
			check.That(t, string(got["store"]) == "false" && string(got["instructions"]) == `"Be brief."` && strings.Contains(string(got["input"]), `"developer"`) && strings.Contains(string(got["input"]), `"{\"malformed\":\"{\"}"`), "got %s", host.Last())
			for _, key := range []string{"model", "input", "store", "instructions"} {
				delete(got, key)
			}
			raw, _ := json.Marshal(got)
			equalJSON(t, string(raw), tt.want)
		})
	}
}

// TestEndpoints has the endpoints of hosts and models.
func TestEndpoints(t *testing.T) {
	for _, tt := range []struct{ url, model, api, began, want string }{
		{openAI, "gpt-6-astra", "", "", Responses}, {openAI, "gpt-5.4-mini", "", "", Responses}, {openAI, "gpt-5.1-codex", "", "", Responses},
		{openAI, "gpt-7", "", "", Responses}, {openAI, "gpt-5-mini", "", "", Chat}, {openAI, "gpt-4.1", "", "", Chat}, {openAI, "gpt-6-chat-latest", "", "", Chat},
		{openAI, "gpt-6-sol", Chat, "", Chat}, {openAI, "gpt-4.1", Responses, "", Responses}, {openAI, "gpt-6-sol", "", Chat, Chat},
		{openAI, "gpt-4.1", "", Responses, Responses}, {openAI, "gpt-6-astra", "", Chat, Responses}, {local, "gpt-6-astra", "", "", Chat},
		{local, "qwen3", Responses, "", Responses}, {local, "qwen3", "", Responses, Chat}, {openAI, "gpt-6-sol", "", "messages", Responses},
	} {
		path := ""
		host := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if path = r.URL.Path; strings.HasSuffix(path, "/responses") {
				io.WriteString(w, response("completed", textItem, ""))
				return
			}
			io.WriteString(w, plainAnswer)
		})
		r := astra(Tool{Name: "f"})
		r.Model, r.Endpoint = tt.model, tt.began
		_, err := host.client(t, tt.url, &Options{API: tt.api}).Complete(t.Context(), r)
		got := Chat
		switch {
		case err != nil:
			got = "!"
		case strings.HasSuffix(path, "/responses"):
			got = Responses
		}
		check.That(t, got == tt.want, "%+v: got %s, %v", tt, got, err)
	}
	check.Text(t, check.Err(New(openai.DefaultConfig(testKey), &Options{API: "messages"})), "use chat or responses")
}

// TestResponsesEnd has how responses end, and fail.
func TestResponsesEnd(t *testing.T) {
	first := slices.Clip(events(textItem))
	var manyCalls []string
	for i := range maxCalls + 1 {
		manyCalls = append(manyCalls, fmt.Sprintf(`data: {"type":"response.output_item.done","output_index":%d,"item":%s}`, i, callItem))
	}
	for name, tt := range map[string]struct {
		h                  http.HandlerFunc
		finish, code, text string
	}{
		"bound":               {answering(response("incomplete", textItem, `,"incomplete_details":{"reason":"max_output_tokens"}`)), FinishLength, "", ""},
		"cut before input":    {answering(response("incomplete", textItem+`,{"type":"function_call","call_id":"c","name":"f","arguments":""}`, `,"incomplete_details":{"reason":"max_output_tokens"}`)), FinishLength, "", ""},
		"cut call":            {answering(response("incomplete", textItem+`,{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a"}`, `,"incomplete_details":{"reason":"max_output_tokens"}`)), FinishLength, "", ""},
		"filter":              {streaming(append(first, completed("response.incomplete", response("incomplete", textItem, `,"incomplete_details":{"reason":"content_filter"}`)))...), FinishContentFilter, "", ""},
		"filter beside call":  {answering(response("incomplete", textItem+`,{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, `,"incomplete_details":{"reason":"content_filter"}`)), FinishContentFilter, "", ""},
		"refusal":             {answering(response("completed", `{"type":"message","content":[{"type":"refusal","refusal":"No."}]}`, "")), FinishStop, "", ""},
		"failed":              {streaming(append(first, completed("response.failed", response("failed", "", `,"error":{"code":"server_error","message":"boom"}`)))...), "", "server_error", "boom"},
		"error event":         {streaming(append(first, "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}")...), "", "rate_limit_exceeded", "slow"},
		"cut off":             {streaming(first...), "", CodeTruncated, "before the model did"},
		"not a response":      {answering(plainAnswer), "", CodeEmpty, "no output"},
		"not JSON":            {answering("<title>Gateway</title>"), "", CodeMalformed, "Gateway"},
		"too many calls":      {streaming(append(manyCalls, completed("response.completed", response("completed", "", "")))...), "", CodeMalformed, "256 tool calls"},
		"odd event":           {streaming("data: [1]"), "", CodeMalformed, "not an object"},
		"no endpoint":         {failing(404, "", ""), "", "", "set API to chat"},
		"wrong method":        {failing(405, "", ""), "", "", "set API to chat"},
		"too long":            {failing(400, "", `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"}}`), "", CodeContextLength, "context"},
		"whole, for a stream": {answering(response("completed", textItem, "")), FinishStop, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newHost(t, tt.h).client(t, openAI, &Options{Retries: -1})
			text := ""
			reply, err := c.Stream(t.Context(), astra(Tool{Name: "f"}), Deltas{Text: func(s string) error { text += s; return nil }})
			if tt.finish != "" {
				check.That(t, err == nil && reply.Finish == tt.finish && len(reply.ToolCalls) == 0 && text == reply.Text,
					"got %+v, %q, %v", reply, text, err)
				return
			}
			failure, ok := errors.AsType[*Error](err)
			check.That(t, ok && failure.Code == tt.code && strings.Contains(err.Error(), tt.text),
				"got %v, want code %q and %q", err, tt.code, tt.text)
		})
	}
}

// TestResponsesStop cuts a text before a stop sequence: the API has none.
func TestResponsesStop(t *testing.T) {
	lines := append(events(textItem, callItem), completed("response.completed", response("completed", textItem+","+callItem, "")))
	for _, toEnd := range []bool{false, true} {
		r := astra(Tool{Name: "weather"})
		r.Stop, r.ReadToEnd = []string{"me"}, toEnd
		text := ""
		reply, err := newHost(t, streaming(lines...)).client(t, openAI, nil).Stream(t.Context(), r, Deltas{Text: func(s string) error { text += s; return nil }})
		check.That(t, err == nil && reply.Text == "Let " && text == "Let " && reply.Stopped && len(reply.ToolCalls) == 0 && len(reply.Items) == 1 && (reply.Usage != nil) == toEnd,
			"to the end %t: got %+v, %q, %v", toEnd, reply, text, err)
	}

	// After the stop sequence a failure of the host costs only the usage.
	failed := append(events(textItem), `data: {"type":"error","message":"m"}`)
	r := astra()
	r.Stop, r.ReadToEnd = []string{"me"}, true
	reply, err := newHost(t, streaming(failed...)).client(t, openAI, nil).Stream(t.Context(), r, Deltas{})
	check.That(t, err == nil && reply.Text == "Let " && reply.Stopped, "a failure after the stop sequence: got %+v, %v", reply, err)

	// The last event counts, and may have another text than the pieces.
	last := completed("response.completed", response("completed", strings.Replace(textItem, "Let me see.", "Tell me.", 1), ""))
	r = astra()
	r.Stop = []string{"me."}
	reply, err = newHost(t, streaming(append(events(textItem), last)...)).client(t, openAI, nil).Stream(t.Context(), r, Deltas{})
	check.That(t, err == nil && reply.Text == "Tell " && reply.Stopped, "another text at the end: got %+v, %v", reply, err)
}

// TestResponsesBombs bounds the memory for a reply by its bytes.
func TestResponsesBombs(t *testing.T) {
	for name, body := range map[string]string{
		"items":    response("completed", strings.Repeat("{},", 1<<20)+"{}", ""),
		"depth":    `{"output":` + strings.Repeat("[", 1<<20),
		"calls":    response("completed", strings.Repeat(`{"type":"function_call"},`, 300)+"{}", ""),
		"contents": response("completed", `{"type":"message","content":[`+strings.Repeat("{},", 1<<20)+`{}]}`, ""),
		"texts":    response("completed", `{"type":"message","content":[`+strings.Repeat(`{"type":"output_text","text":"a"},`, 1<<16)+`{}]}`, ""),
		"twice":    response("completed", `{"type":"message"`+strings.Repeat(`,"content":[{"type":"refusal","refusal":"a"}]`, 1<<16)+`}`, ""),
		"messages": response("completed", strings.Repeat(`{"type":"message","content":[{"type":"output_text","text":"`+strings.Repeat("a", 1<<12)+`"}]},`, 1000)+`{}`, ""),
		"thoughts": response("completed", strings.Repeat(`{"type":"reasoning","summary":[{"type":"summary_text","text":"`+strings.Repeat("a", 1<<12)+`"}]},`, 1000)+textItem, ""),
		"name":     response("completed", `{"type":"function_call","name":"`+strings.Repeat("x", 1<<20)+`"}`, ""),
	} {
		h := newHost(t, answering(body))
		var err error
		grown := check.Allocated(func() { _, err = h.client(t, openAI, nil).Complete(t.Context(), astra()) })
		fits := name == "twice" || name == "messages" || name == "thoughts"
		check.That(t, (err != nil || fits) && (err == nil || len(err.Error()) <= 4<<10) && grown <= 40*uint64(len(body))+1<<20,
			"%s: %d bytes took %d bytes: %.200v", name, len(body), grown, err)
	}
	pieces := make([]string, 0, 100_000)
	for range 100_000 {
		pieces = append(pieces, `data: {"type":"response.output_text.delta","delta":"x"}`)
	}
	pieces = append(pieces, completed("response.completed", response("completed", "", "")))
	h := newHost(t, streaming(pieces...))
	var err error
	grown := check.Allocated(func() { _, err = h.client(t, openAI, nil).Stream(t.Context(), astra(), Deltas{}) })
	check.That(t, err == nil && grown <= 400<<20, "100,000 pieces took %d bytes: %v", grown, err)
}

func FuzzResponses(f *testing.F) {
	f.Add(response("completed", thoughtItem+","+callItem, ""))
	for _, line := range events(thoughtItem, textItem) {
		_, data, _ := strings.Cut(line, "data: ")
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		d := &draft{endpoint: Responses, names: newNames(&Request{}), ids: newIDs(plainID)}
		whole, streamed := d.newAnswer(t.Context(), Deltas{}), d.newAnswer(t.Context(), Deltas{})
		if whole.Whole([]byte(data)) == nil && whole.End() == nil && len(d.reply.Text)+len(d.reply.Reasoning) > 4*len(data) {
			t.Errorf("%d bytes became %d", len(data), len(d.reply.Text)+len(d.reply.Reasoning))
		}
		for _, event := range []string{data, `{"type":"response.completed","response":` + response("completed", "", "") + `}`} {
			if done, err := streamed.Event("", []byte(event)); done || err != nil {
				break
			}
		}
		check.That(t, streamed.End() != nil || len(d.reply.Text) <= 4*len(data), "%d bytes became %d", len(data), len(d.reply.Text))
	})
}
