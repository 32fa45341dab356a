package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// thoughtful answers with two calls and the extra data of all hosts.
const thoughtful = `{"choices":[{"message":{"reasoning_content":"Hm.","tool_calls":[` +
	`{"id":"functions.f:0","function":{"name":"f","arguments":"{\"x\":1,\"y\":[2]}"},"extra_content":{"google":{"thought_signature":"sig"}}},` +
	`{"id":"functions.f:1","function":{"name":"f","arguments":"{}"}}]}}]}`

// replayed makes a host answer hello, and returns the last message of a second request to the host.
func replayed(t *testing.T, url string, second func(calls []ToolCall) *Request) string {
	t.Helper()
	h := newHost(t, answering(thoughtful))
	c := h.client(t, url, nil)
	reply := check.Value(c.Complete(t.Context(), hello()))(t)
	for i := range reply.ToolCalls {
		reply.ToolCalls[i].Extra = nil // langchaingo drops it
	}
	check.Must(t, check.Err(c.Complete(t.Context(), second(reply.ToolCalls))))
	var got struct{ Messages []json.RawMessage }
	check.Must(t, json.Unmarshal([]byte(h.Last()), &got))
	return string(got.Messages[len(got.Messages)-1])
}

// continued is the conversation of hello with its calls.
func continued(calls []ToolCall) *Request {
	r := hello()
	r.Messages = append(r.Messages, Message{Role: Assistant, ToolCalls: calls})
	return r
}

// Gemini and DeepSeek get their extra data back with the call.
func TestRecall(t *testing.T) {
	const (
		sig   = `,"extra_content":{"google":{"thought_signature":"sig"}}`
		start = `{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"x\":1,\"y\":[2]}"}`
		other = `},{"id":"functions.f:1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	)
	equalJSON(t, replayed(t, gemini, continued), `{"role":"assistant","tool_calls":[`+start+sig+other)
	for _, url := range []string{deepseek, moonshot} {
		equalJSON(t, replayed(t, url, continued), `{"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":[`+start+other)
	}
	equalJSON(t, replayed(t, local, continued), `{"role":"assistant","reasoning_content":"Hm.","tool_calls":[`+start+other)
	equalJSON(t, replayed(t, "https://api.groq.com/openai/v1", continued), `{"role":"assistant","tool_calls":[`+start+other)
}

// Hosts count ids from 0 in each conversation, and a peer can invent them. The
// data of one conversation never goes into another.
func TestRecallStaysInItsConversation(t *testing.T) {
	edited := func(edit func(r *Request)) func([]ToolCall) *Request {
		return func(calls []ToolCall) *Request {
			r := continued(calls)
			edit(r)
			return r
		}
	}
	for _, tt := range []struct {
		name   string
		second func([]ToolCall) *Request
		found  bool
	}{
		{"the same", continued, true},
		{"with a text beside the calls", edited(func(r *Request) { r.Messages[1].Parts = []Part{{Text: "Looking."}} }), true},
		{"one of its calls", edited(func(r *Request) { r.Messages[1].ToolCalls = r.Messages[1].ToolCalls[:1] }), true},
		{"another user's question", edited(func(r *Request) { r.Messages[0] = Text(User, "Ho") }), false},
		{"another system prompt", edited(func(r *Request) { r.Messages = append([]Message{Text(System, "You serve Bob.")}, r.Messages...) }), false},
		{"an invented history", edited(func(r *Request) { r.Messages = r.Messages[1:] }), false},
		{"more before the call", edited(func(r *Request) {
			r.Messages = []Message{r.Messages[0], Text(User, "Repeat what you thought."), r.Messages[1]}
		}), false},
		{"texts that run together", edited(func(r *Request) { r.Messages = []Message{Text(User, "H"), Text(User, "i"), r.Messages[1]} }), false},
		{"with a picture", edited(func(r *Request) {
			r.Messages[0].Parts = append(r.Messages[0].Parts, Part{Image: &Image{MIMEType: "image/png", Data: []byte("png")}})
		}), false},
		{"another id", edited(func(r *Request) { r.Messages[1].ToolCalls = []ToolCall{{ID: "functions.f:2", Name: "f"}} }), false},
		{"another tool", edited(func(r *Request) { r.Messages[1].ToolCalls = []ToolCall{{ID: "functions.f:1", Name: "g"}} }), false},
		{"arguments in another form", edited(func(r *Request) { r.Messages[1].ToolCalls[0].Arguments = `{"input":{"x":1}}` }), true},
		{"another memory", edited(func(r *Request) { r.Memory = NewMemory() }), false},
	} {
		for url, kept := range map[string]string{moonshot: "Hm.", gemini: "thought_signature"} {
			check.Equal(t, tt.name+" at "+url, strings.Contains(replayed(t, url, tt.second), kept), tt.found)
		}
	}
}

// Peers rewrite the arguments of earlier calls, and a call is still recognised.
func TestRecallAfterOtherCalls(t *testing.T) {
	h := newHost(t, answering(thoughtful))
	c := h.client(t, moonshot, nil)
	after := func(arguments string) *Request {
		r := hello()
		r.Messages = append(r.Messages, Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "functions.g:0", Name: "g", Arguments: arguments}}},
			Message{Role: ToolRole, ToolCallID: "functions.g:0", Parts: []Part{{Text: "1"}}})
		return r
	}
	reply := check.Value(c.Complete(t.Context(), after(`{"x":1,"y":[2]}`)))(t)
	for arguments, found := range map[string]bool{
		`{"x":1,"y":[2]}`: true, `{ "y": [2.0], "x": 1 }`: true, `{"x":1,"y":[3]}`: false, `{}`: false, `no object`: false,
	} {
		r := after(arguments)
		r.Messages = append(r.Messages, Message{Role: Assistant, ToolCalls: reply.ToolCalls})
		check.Must(t, check.Err(c.Complete(t.Context(), r)))
		check.Equal(t, arguments, strings.Contains(h.Last(), "Hm."), found)
	}
}

// Two conversations with the same words cannot be told apart: the later reply counts, with or without a thought.
func TestRecallOfTheLatestReply(t *testing.T) {
	const plain = `{"choices":[{"message":{"tool_calls":[{"id":"functions.f:0","function":{"name":"f","arguments":"{}"}}]}}]}`
	for latest, found := range map[string]bool{plain: false, thoughtful: true} {
		h := newHost(t, inTurn(answering(thoughtful), answering(plain), answering(latest), answering(plainAnswer)))
		c := h.client(t, moonshot, nil)
		var reply *Reply
		for range 3 {
			reply = check.Value(c.Complete(t.Context(), hello()))(t)
		}
		check.Must(t, check.Err(c.Complete(t.Context(), continued(reply.ToolCalls[:1]))))
		check.Equal(t, latest, strings.Contains(h.Last(), "Hm."), found)
	}
}

// Conversations with any difference for the model have different digests.
func TestConversationsDiffer(t *testing.T) {
	user := func(p ...Part) []Message { return []Message{{Role: User, Parts: p}} }
	answered := func(first, second string) []Message {
		return []Message{{Role: Assistant, ToolCalls: []ToolCall{{ID: "x", Name: "g"}, {ID: "y", Name: "g"}}},
			{Role: ToolRole, ToolCallID: first, Parts: []Part{{Text: "yes"}}}, {Role: ToolRole, ToolCallID: second, Parts: []Part{{Text: "no"}}}}
	}
	conversations := [][]Message{
		nil, {Text(User, "ab")}, {Text(User, "a"), Text(User, "b")}, {Text(User, "a"), Text(Assistant, "b")}, {Text(System, "ab")}, {Text(Assistant, "ab")},
		answered("x", "y"), answered("y", "x"),
		{{Role: ToolRole, ToolCallID: "a", Parts: []Part{{Text: "b"}}}}, {{Role: ToolRole, ToolCallID: "ab"}},
		{{Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "bc"}}}}, {{Role: Assistant, ToolCalls: []ToolCall{{ID: "ab", Name: "c"}}}},
		{{Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "bc", Arguments: `{"x":1}`}}}},
		user(Part{Image: &Image{MIMEType: "image/png", Data: []byte("a")}}), user(Part{Image: &Image{MIMEType: "image/png", Data: []byte("b")}}),
		user(Part{Image: &Image{MIMEType: "image/gif", Data: []byte("a")}}), user(Part{Image: &Image{URL: "a"}}), user(Part{Image: &Image{URL: "b"}}),
		user(Part{Image: &Image{URL: "a", Detail: "low"}}), user(Part{Image: &Image{URL: "a"}}, Part{Text: "ab"}), user(Part{Text: "ab"}, Part{Image: &Image{URL: "a"}}),
		user(Part{Audio: &Audio{"wav", []byte("a")}}), user(Part{Audio: &Audio{"wav", []byte("b")}}), user(Part{Audio: &Audio{"mp3", []byte("a")}}),
		user(Part{File: &File{Data: []byte("a")}}), user(Part{File: &File{Data: []byte("b")}}), user(Part{File: &File{URL: "a"}}),
		user(Part{File: &File{Name: "a", URL: "a"}}), user(Part{File: &File{MIMEType: "a", URL: "a"}}),
	}
	seen := map[callDigest]int{}
	for i, messages := range conversations {
		h := newConversationHash()
		for j := range messages {
			h.message(&messages[j])
		}
		for k, call := range []ToolCall{{ID: "a", Name: "bc"}, {ID: "ab", Name: "c"}} {
			d := h.callDigest(&call)
			other, ok := seen[d]
			check.That(t, !ok, "conversation %d, call %d: got the digest of conversation %d", i, k, other)
			seen[d] = i
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	numbered := func(i int) (d callDigest) {
		copy(d[:], fmt.Sprint(i))
		return d
	}
	m := NewMemory()
	m.put(numbered(1), hostData{reasoning: "kept"})
	m.put(numbered(2), hostData{reasoning: "y"})
	m.put(numbered(2), hostData{})
	check.That(t, m.get(numbered(1)).reasoning == "kept" && m.get(numbered(2)).reasoning == "" && len(m.order) == 1 && m.size == len("kept"),
		"got %d bytes of %d calls, want those of the call that was kept", m.size, len(m.order))
	for i := range 3 * maxMemoryCalls {
		m.put(numbered(i), hostData{reasoning: "y"})
	}
	check.That(t, len(m.byCall) == maxMemoryCalls && len(m.order) == maxMemoryCalls && m.size == maxMemoryCalls,
		"got %d calls, %d in order, of %d bytes, want %d each", len(m.byCall), len(m.order), m.size, maxMemoryCalls)
	check.That(t, m.get(numbered(3*maxMemoryCalls-1)).reasoning == "y" && m.get(numbered(0)).reasoning == "",
		"the latest call is forgotten, or the first is not")
	m.put(numbered(-1), hostData{extra: make([]byte, maxHostData+1)})
	check.That(t, m.get(numbered(-1)).extra == nil, "too large data was kept")
	for i := range maxMemoryCalls {
		m.put(numbered(i), hostData{reasoning: strings.Repeat("z", maxHostData)})
	}
	size := 0
	for _, v := range m.byCall {
		size += v.size()
	}
	check.That(t, size == m.size && size <= maxMemorySize && len(m.order) == len(m.byCall),
		"got %d calls of %d bytes, counted as %d and %d, want at most %d bytes", len(m.byCall), size, len(m.order), m.size, maxMemorySize)
}

// OpenRouter's details come in pieces, and go back as a whole. Too many are dropped, the reply is not.
func TestDetails(t *testing.T) {
	const router = "https://openrouter.ai/api/v1"
	chunk := func(details string) string {
		return `data: {"choices":[{"delta":{"reasoning_details":[` + details + `]}}]}`
	}
	said := `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`
	long := strings.Repeat("z", maxDetails/2)
	for _, tt := range []struct {
		name   string
		chunks []string
		want   string // null for none
	}{
		{"texts and what is encrypted", []string{
			chunk(`{"type":"reasoning.text","text":"H","index":0,"format":"f","signature":null}`),
			chunk(`{"type":"reasoning.text","text":"m.","index":0,"signature":"s"}`),
			chunk(`{"type":"reasoning.encrypted","data":"a","index":1},{"type":"reasoning.encrypted","data":"b","index":1}`),
			chunk(`{"type":"reasoning.summary","summary":"S","index":2}`), chunk(`{"type":"reasoning.summary","summary":"T","index":3}`),
		}, `[{"type":"reasoning.text","text":"Hm.","index":0,"format":"f","signature":"s"},{"type":"reasoning.encrypted","data":"a","index":1},
			{"type":"reasoning.encrypted","data":"b","index":1},{"type":"reasoning.summary","summary":"S","index":2},{"type":"reasoning.summary","summary":"T","index":3}]`},
		{"none", []string{chunk(``)}, `null`},
		{"not a list of objects", []string{chunk(`3`)}, `null`},
		{"too many", []string{chunk(`{"type":"reasoning.text","text":"` + long + `"}`), chunk(`{"type":"reasoning.text","text":"` + long + `"}`)}, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, streaming(append(tt.chunks, said)...))
			reply := check.Value(h.client(t, router, nil).Stream(t.Context(), hello(), Deltas{}))(t)
			check.Equal(t, "text", reply.Text, "x")
			equalJSON(t, cmp.Or(string(reply.Details), "null"), tt.want)
		})
	}
}

// The arguments of a model come back with each request, and may be made to cost much.
func TestLongArgumentsCostLittle(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	cost := func(base, list string) uint64 {
		c := h.client(t, base, nil)
		call := ToolCall{ID: "a", Name: "f", Arguments: `{"a":[` + list + `0]}`}
		return check.Allocated(func() {
			check.Must(t, check.Err(c.Complete(t.Context(), &Request{Model: "m", Messages: []Message{Text(User, "x"), {Role: Assistant, ToolCalls: []ToolCall{call}}}})))
		})
	}
	list := strings.Repeat("0,", 1<<20)
	without, with := cost(openAI, list), cost("http://memhttp.test/v1", list) // the latter host wants data back
	check.That(t, with <= without+without/2, "with a memory of calls a request cost %d bytes, without %d", with, without)
}
