package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

const (
	maxElements = 10_000   // elements of one array of a reply; all arrays together have up to ten times as many
	maxWord     = 256      // bytes of a model's name, a reply's id and its finish reason; the rest is cut off
	maxCallID   = 64 << 10 // bytes of a call's id: some gateways put a signature of the model into it
	maxCalls    = 256      // tool calls of one reply
	maxCallName = 256      // bytes of a call's name
)

// decoder reads a reply, or an event of a stream, in one pass: its time and its memory are linear in the
// bytes. Hosts fill some fields with other kinds of JSON than the API defines; such a field is taken as empty
// and does not fail the reply.
type decoder struct {
	jsonrpc.Decoder
	ctx    context.Context
	reread int // bytes that were read twice, because they are kept
}

func decode(ctx context.Context, data []byte) *decoder {
	return &decoder{Decoder: jsonrpc.NewDecoder(data, maxElements), ctx: ctx}
}

// replyHead holds the members that the replies of both APIs have.
type replyHead struct {
	id, model string
	usage     *Usage
	error     json.RawMessage
}

type replyWire struct {
	replyHead
	choice *choiceWire // the first one with index 0
}

type choiceWire struct {
	message, delta messageWire
	finish         string
	stopReason     string          // vLLM: the stop sequence that was met
	error          json.RawMessage // OpenRouter
}

type messageWire struct {
	content   string
	refusal   string
	reasoning string
	details   json.RawMessage // OpenRouter
	calls     []toolCallWire
}

type toolCallWire struct {
	index           *int
	id              string
	name, arguments string
	extra           json.RawMessage
}

// reply reads a completion or a chunk of one. null is an empty one.
func (d *decoder) reply() (w replyWire, err error) {
	if d.opens('n') {
		d.Raw()
		return w, d.End()
	}
	for key := range d.Members {
		if !d.headMember(&w.replyHead, key) && string(key) == "choices" {
			w.choice = d.choices()
		}
	}
	return w, d.End()
}

// headMember reads a member of a reply if it is in the head. Otherwise it returns false.
func (d *decoder) headMember(h *replyHead, key []byte) bool {
	switch string(key) {
	case "id":
		h.id = d.word()
	case "model":
		h.model = d.word()
	case "usage":
		h.usage = decodeUsage(d.Raw())
	case "error":
		h.error = d.Raw()
	default:
		return false
	}
	return true
}

// objects ranges over the objects of an array. Other elements are skipped; another value has none. The decoding fails
// if its context has ended.
func (d *decoder) objects(yield func() bool) {
	if !d.opens('[') {
		return
	}
	for range d.Elements {
		if err := d.ctx.Err(); err != nil {
			d.Fail(err)
			return
		}
		if d.opens('{') && !yield() {
			return
		}
	}
}

// choices returns the first choice with index 0, nil if there is none.
func (d *decoder) choices() (first *choiceWire) {
	for range d.objects {
		if first != nil {
			continue
		}
		if c, index := d.choice(); index == 0 {
			first = c
		}
	}
	return first
}

// choice reads a choice and its index.
func (d *decoder) choice() (c *choiceWire, index int) {
	c = &choiceWire{}
	for key := range d.Members {
		switch string(key) {
		case "index":
			index = int(decodeCount(d.Raw()))
		case "message":
			c.message = d.message()
		case "delta":
			c.delta = d.message()
		case "finish_reason":
			c.finish = d.word()
		case "stop_reason":
			c.stopReason = d.scalar()
		case "error":
			c.error = d.Raw()
		}
	}
	return c, index
}

// message reads a message or a delta. Another value than an object is an empty message.
func (d *decoder) message() (m messageWire) {
	if !d.opens('{') {
		return m
	}
	var thought strings.Builder // in the content
	var content string          // reasoning_content of DeepSeek and older vLLM; others send reasoning
	for key := range d.Members {
		switch string(key) {
		case "content":
			m.content = d.content(&thought)
		case "refusal":
			m.refusal = d.text()
		case "reasoning":
			m.reasoning = d.text()
		case "reasoning_content":
			content = d.text()
		case "reasoning_details":
			if raw := d.Raw(); isDetails(raw) {
				m.details = bytes.Clone(raw)
			}
		case "tool_calls":
			m.calls = d.toolCalls()
		}
	}
	m.reasoning = cmp.Or(content, m.reasoning, thought.String())
	return m
}

// toolCalls reads at most maxCalls calls.
func (d *decoder) toolCalls() (calls []toolCallWire) {
	for range d.objects {
		if len(calls) == maxCalls {
			d.Fail(errManyCalls)
			break
		}
		calls = append(calls, d.toolCall())
	}
	return calls
}

// toolCall reads a call, or a piece of one.
func (d *decoder) toolCall() (call toolCallWire) {
	for key := range d.Members {
		switch string(key) {
		case "index":
			if n, err := strconv.Atoi(string(d.Raw())); err == nil {
				call.index = &n
			}
		case "id":
			call.id = d.callID()
		case "function":
			if d.opens('{') {
				d.function(&call)
			}
		case "extra_content":
			if raw := d.Raw(); isExtra(raw) {
				call.extra = bytes.Clone(raw)
			}
		}
	}
	return call
}

func (d *decoder) function(call *toolCallWire) {
	for key := range d.Members {
		switch string(key) {
		case "name":
			call.name = d.callName()
		case "arguments":
			call.arguments = d.json()
		}
	}
}

// callID reads the id of a call.
func (d *decoder) callID() string {
	id := d.scalar()
	if len(id) > maxCallID {
		d.Fail(fmt.Errorf("tool call id is over %d bytes", maxCallID))
	}
	return id
}

// callName reads the name of a call.
func (d *decoder) callName() string {
	name := d.scalar()
	if len(name) > maxCallName {
		d.Fail(errLongName)
	}
	return name
}

var (
	errLongName  = fmt.Errorf("tool call name is over %d bytes", maxCallName)
	errManyCalls = fmt.Errorf("answer has more than %d tool calls", maxCalls)
)

// opens reports whether the next value begins with c. A value that the caller does not read is skipped.
func (d *decoder) opens(c byte) bool { return d.Kind() == c }

// objectMembers ranges over the members of an object; another value has none.
func (d *decoder) objectMembers() iter.Seq[[]byte] {
	if d.opens('{') {
		return d.Members
	}
	return func(func([]byte) bool) {}
}

// word reads a string or the text of a number, cut to maxWord.
func (d *decoder) word() string {
	s := d.scalar()
	if len(s) > maxWord {
		s = strings.Clone(strings.ToValidUTF8(s[:maxWord], ""))
	}
	return s
}

// scalar reads a string or the text of a number.
func (d *decoder) scalar() string { return decodeScalar(d.countReread(d.Raw())) }

// countReread counts the bytes of a value that is decoded once more. FuzzCost bounds the sum.
func (d *decoder) countReread(raw []byte) []byte {
	d.reread += len(raw)
	return raw
}

// plainString reads a string. ok is false for another value.
func (d *decoder) plainString() (text string, ok bool) { return decodeString(d.countReread(d.Raw())) }

// text reads a string, or the text in a list of strings and parts, without thoughts.
func (d *decoder) text() string { return d.content(nil) }

// content reads a string, or the text in a list of strings and parts. The text of parts with thinking, as Mistral sends
// it, is added to thought, unless that is nil; parts of other types are left out. The text may begin or end within a
// character: see [wellFormed].
func (d *decoder) content(thought *strings.Builder) string {
	if !d.opens('[') {
		text, _ := d.plainString()
		return text
	}
	var b strings.Builder
	for range d.Elements {
		if d.opens('{') {
			b.WriteString(d.part(thought))
		} else if text, ok := d.plainString(); ok {
			b.WriteString(text)
		}
	}
	return b.String()
}

// part reads a part of a message and returns its text. It adds its thoughts to thought, unless that is nil.
func (d *decoder) part(thought *strings.Builder) (text string) {
	typ := ""
	for key := range d.Members {
		switch string(key) {
		case "type":
			typ = d.word()
		case "text":
			text, _ = d.plainString()
		case "thinking":
			if thought != nil {
				thought.WriteString(d.text())
			}
		}
	}
	if typ != "text" && typ != "" {
		return ""
	}
	return text
}

// json reads JSON inside a string, as the API defines arguments, or bare JSON. The text may begin or end within a
// character.
func (d *decoder) json() string {
	raw := d.countReread(d.Raw())
	if text, ok := decodeString(raw); ok || len(raw) == 0 || string(raw) == "null" {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

// empty reports whether the message has no content.
func (m *messageWire) empty() bool { return m.size() == 0 && len(m.calls) == 0 && m.details == nil }

// size returns the number of bytes that the model wrote in the message.
func (m *messageWire) size() int {
	n := len(m.content) + len(m.refusal) + len(m.reasoning)
	for i := range m.calls {
		n += len(m.calls[i].name) + len(m.calls[i].arguments)
	}
	return n
}
