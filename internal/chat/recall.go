package chat

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"slices"
	"sync"
)

// hostData is data that a host sends with a message and wants back with it. Neither MCP nor
// langchaingo has a field for it.
type hostData struct {
	extra     json.RawMessage // of a call, such as Gemini's thought signature
	reasoning string          // text, such as DeepSeek's
	details   json.RawMessage // OpenRouter's list
}

func (v *hostData) size() int { return len(v.extra) + len(v.reasoning) + len(v.details) }

// or returns v, or other if v has no reasoning.
func (v hostData) or(other hostData) hostData {
	if v.reasoning == "" && v.details == nil {
		return other
	}
	return v
}

// keyOfText returns the call under which the data of a message without calls is kept: its text is the name.
func keyOfText(text string) *ToolCall { return &ToolCall{Name: text} }

const (
	maxMemoryCalls = 512      // per Memory; the oldest are forgotten
	maxHostData    = 64 << 10 // bytes per call; larger data is not kept
	maxMemorySize  = 4 << 20  // bytes per Memory
)

// isExtra reports whether JSON can be the extra data of a call: an object within maxHostData.
func isExtra(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxHostData && raw[0] == '{' && json.Valid(raw)
}

// Memory keeps what a host wants back with its latest calls and texts, so that a Client can add it
// to requests that replay them. The key is the whole conversation up to the call, the id and the tool. An id alone is not
// enough: some hosts count ids from 0 in each conversation, and a peer may invent them.
//
// A memory holds up to 512 calls and 4 MiB. It may be used concurrently.
type Memory struct {
	mu     sync.Mutex
	byCall map[callDigest]hostData
	order  []callDigest // oldest first
	size   int          // bytes
}

// NewMemory returns an empty memory.
func NewMemory() *Memory { return &Memory{byCall: map[callDigest]hostData{}} }

func (m *Memory) get(d callDigest) hostData {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byCall[d]
}

// put replaces the data of a call. Without data it forgets the call: an earlier conversation with the same words had some.
func (m *Memory) put(d callDigest, v hostData) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.byCall[d]; known {
		m.forgetLocked(slices.Index(m.order, d))
	}
	if size := v.size(); size == 0 || size > maxHostData {
		return
	}
	m.byCall[d], m.order = v, append(m.order, d)
	m.size += v.size()
	for len(m.order) > maxMemoryCalls || m.size > maxMemorySize {
		m.forgetLocked(0)
	}
}

func (m *Memory) forgetLocked(i int) {
	v := m.byCall[m.order[i]]
	m.size -= v.size()
	delete(m.byCall, m.order[i])
	m.order = slices.Delete(m.order, i, i+1)
}

// callDigest identifies a call by its conversation, its id and its tool, but not by its arguments, which the caller
// may write in another form.
type callDigest [sha256.Size]byte

// conversationHash hashes a conversation, message by message, without the remembered data, which only some callers
// keep in their messages.
type conversationHash struct{ sum hash.Hash }

func newConversationHash() conversationHash { return conversationHash{sha256.New()} }

// message adds a message. Texts beside each other count as one, as callers split and join them.
func (h conversationHash) message(m *Message) {
	hashed := Message{Role: m.Role, ToolCallID: m.ToolCallID}
	rest := m.Parts
	for i := slices.IndexFunc(rest, Part.isMedia); i >= 0; i = slices.IndexFunc(rest, Part.isMedia) {
		hashed.Parts = append(hashed.Parts, Part{Text: joinText(rest[:i])}, rest[i])
		rest = rest[i+1:]
	}
	hashed.Parts = append(hashed.Parts, Part{Text: joinText(rest)})
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		hashed.ToolCalls = append(hashed.ToolCalls, ToolCall{ID: call.ID, Name: call.Name, Arguments: canonical(call.Arguments)})
	}
	h.value(hashed)
}

// value adds a value as JSON, which keeps its fields apart.
func (h conversationHash) value(v any) { _ = json.NewEncoder(h.sum).Encode(v) } // neither these values nor a hash fail

// canonical returns the arguments of a call in one form. Callers write them differently: with other spaces, with the fields
// in another order, or as {} instead of another value. Long ones are hashed as they are: decoding takes many times their size.
func canonical(arguments string) string {
	if len(arguments) > maxHostData {
		return arguments
	}
	var fields map[string]any
	if json.Unmarshal([]byte(arguments), &fields) != nil || fields == nil {
		return "{}"
	}
	out, _ := json.Marshal(fields) // a decoded value always marshals
	return string(out)
}

// callDigest returns the digest of a call after the messages so far.
func (h conversationHash) callDigest(c *ToolCall) callDigest {
	extended := newConversationHash()
	extended.sum.Write(h.sum.Sum(nil))
	extended.value([]string{c.ID, c.Name})
	return callDigest(extended.sum.Sum(nil))
}

// extendConversation adds messages to the conversation so far.
func (d *draft) extendConversation(messages []Message) {
	if d.memory == nil {
		return
	}
	for i := range messages {
		d.conversation.message(&messages[i])
	}
}

// recall returns the host's extra data of a call after the conversation so far.
func (d *draft) recall(c *ToolCall) hostData {
	if d.memory == nil {
		return hostData{}
	}
	return d.memory.get(d.conversation.callDigest(c))
}

// rememberReply remembers what the host may want back with each call of a reply, or with its text if it has none.
func (d *draft) rememberReply(r *Reply) {
	data := hostData{reasoning: r.Reasoning, details: r.Details}
	for i := range r.ToolCalls {
		data.extra = r.ToolCalls[i].Extra
		d.remember(&r.ToolCalls[i], data)
	}
	if len(r.ToolCalls) == 0 {
		d.remember(keyOfText(r.Text), data)
	}
}

// remember remembers the host's extra data of a call in its reply.
func (d *draft) remember(c *ToolCall, v hostData) {
	if d.memory != nil {
		d.memory.put(d.conversation.callDigest(c), v)
	}
}
