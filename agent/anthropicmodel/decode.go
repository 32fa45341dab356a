package anthropicmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Bounds of a reply, beside its bytes.
const (
	maxElements = 10_000 // of one array
	maxBlocks   = 1_024
	maxCalls    = 256
	maxName     = 256     // bytes of a tool's name, and of what is kept of a model's name
	maxID       = 4 << 10 // bytes of a call's id
	maxCount    = 1 << 30 // tokens
)

// answer puts a reply together, from the events of a stream or from one message.
type answer struct {
	show func(model.Delta) bool // false ends the request

	id, model string
	blocks    []*replyBlock
	stop      string
	usage     run.Spent
}

// replyBlock is a block of a reply as it grows.
type replyBlock struct {
	kind      string
	text      bytes.Buffer // text, thinking, or the input of a call
	signature bytes.Buffer
	id, name  string
	raw       json.RawMessage // of a type that this package does not know
}

var errEnough = errors.New("the caller has stopped")

// Event implements [chat.Answer].
func (a *answer) Event(kind string, data []byte) (done bool, err error) {
	d := jsonrpc.NewDecoder(data, maxElements)
	var e event
	e.read(&d)
	if d.Err() != nil {
		return false, fmt.Errorf("an event of the stream: %w", d.Err())
	}
	switch e.kind {
	case "message_start":
		return false, a.start(&e.message)
	case "content_block_start":
		return false, a.open(e.index, e.block)
	case "content_block_delta":
		return false, a.grow(e.index, &e)
	case "message_delta":
		a.stop = e.stop
		a.count(&e.usage)
	case "message_stop":
		return true, nil
	case "error":
		return false, &chat.Reported{Body: data}
	}
	return false, nil // ping, content_block_stop, and what comes later
}

// event has the members of all kinds of events that matter here.
type event struct {
	kind    string
	index   int
	message wireReply
	block   json.RawMessage
	delta   string // the kind of the delta
	piece   string
	stop    string
	usage   usage
}

func (e *event) read(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case "type":
			e.kind = word(d)
		case "index":
			e.index = number(d.Raw())
		case "message":
			e.message.read(d)
		case "content_block":
			e.block = d.Raw()
		case "delta":
			e.readDelta(d)
		case "usage":
			e.usage.read(d)
		}
	}
}

func (e *event) readDelta(d *jsonrpc.Decoder) {
	if d.Kind() != '{' {
		return
	}
	for key := range d.Members {
		switch string(key) {
		case "type":
			e.delta = word(d)
		case "text", "thinking", "partial_json", "signature":
			e.piece, _ = d.String()
		case "stop_reason":
			e.stop = word(d)
		}
	}
}

// wireReply is a message of the API; its content is empty at the start of a stream.
type wireReply struct {
	id, model, stop, kind string
	content               []json.RawMessage
	usage                 usage
}

func (r *wireReply) read(d *jsonrpc.Decoder) {
	if d.Kind() != '{' {
		return
	}
	for key := range d.Members {
		switch string(key) {
		case "type":
			r.kind = word(d)
		case "id":
			r.id = word(d)
		case "model":
			r.model = word(d)
		case "stop_reason":
			r.stop = word(d)
		case "usage":
			r.usage.read(d)
		case "content":
			if d.Kind() == '[' {
				for range d.Elements {
					r.content = append(r.content, d.Raw())
				}
			}
		}
	}
}

// usage counts tokens as the API does; 0 is a count that did not come or cannot be true.
type usage struct{ input, output, cached, written, thoughts int }

func (u *usage) read(d *jsonrpc.Decoder) {
	if d.Kind() != '{' {
		return
	}
	for key := range d.Members {
		switch string(key) {
		case "input_tokens":
			u.input = number(d.Raw())
		case "output_tokens":
			u.output = number(d.Raw())
		case "cache_read_input_tokens":
			u.cached = number(d.Raw())
		case "cache_creation_input_tokens":
			u.written = number(d.Raw())
		case "output_tokens_details":
			if d.Kind() == '{' {
				for key := range d.Members {
					if string(key) == "thinking_tokens" {
						u.thoughts = number(d.Raw())
					}
				}
			}
		}
	}
}

// word is a short string; the rest of a longer one is cut off.
func word(d *jsonrpc.Decoder) string {
	s, _ := d.String()
	return strings.Clone(excerpt.CutAt(s, maxName))
}

// number is a count; 0 for one that cannot be true.
func number(raw []byte) int {
	var n int
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > maxCount {
		return 0
	}
	return n
}

func (a *answer) start(r *wireReply) error {
	a.id, a.model = r.id, r.model
	a.count(&r.usage)
	for i, raw := range r.content {
		if err := a.open(i, raw); err != nil {
			return err
		}
	}
	return nil
}

// count takes counts, which replace earlier ones of the same reply.
func (a *answer) count(u *usage) {
	if input := u.input + u.cached + u.written; input > 0 {
		a.usage.Input, a.usage.Cached, a.usage.CacheWrite = int64(input), int64(u.cached), int64(u.written)
	}
	if u.output > 0 {
		a.usage.Output, a.usage.Reasoning = int64(u.output), int64(min(u.thoughts, u.output))
	}
	a.usage.Total = a.usage.Input + a.usage.Output
}

// open begins a block with what it has at its start.
func (a *answer) open(index int, raw json.RawMessage) error {
	if index != len(a.blocks) || index == maxBlocks {
		return fmt.Errorf("block %d comes after %d blocks; at most %d are taken", index, len(a.blocks), maxBlocks)
	}
	b := &replyBlock{}
	a.blocks = append(a.blocks, b)
	d := jsonrpc.NewDecoder(raw, maxElements)
	var input []byte
	for key := range d.Members {
		switch string(key) {
		case "type":
			b.kind = word(&d)
		case "id":
			b.id, _ = d.String()
		case "name":
			b.name, _ = d.String()
		case "text", "thinking":
			piece, _ := d.String()
			b.text.WriteString(piece)
		case "signature", "data":
			piece, _ := d.String()
			b.signature.WriteString(piece)
		case "input":
			input = d.Raw()
		}
	}
	switch {
	case d.Err() != nil:
		return fmt.Errorf("block %d: %w", index, d.Err())
	case len(b.id) > maxID || len(b.name) > maxName:
		return fmt.Errorf("block %d: the id has %d bytes and the name %d; at most %d and %d are taken", index, len(b.id), len(b.name), maxID, maxName)
	}
	switch b.kind {
	case "text", "thinking":
		return a.say(b.kind, b.text.String())
	case "redacted_thinking":
	case "tool_use":
		if string(input) != "{}" { // which stands for what comes in pieces
			b.text.Write(input)
		}
	default:
		b.raw = bytes.Clone(raw)
	}
	return nil
}

// grow adds a piece to a block.
func (a *answer) grow(index int, e *event) error {
	if index >= len(a.blocks) {
		return fmt.Errorf("a piece of block %d, and there are %d blocks", index, len(a.blocks))
	}
	b := a.blocks[index]
	switch e.delta {
	case "text_delta", "thinking_delta":
		b.text.WriteString(e.piece)
		return a.say(b.kind, e.piece)
	case "input_json_delta":
		b.text.WriteString(e.piece)
	case "signature_delta":
		b.signature.WriteString(e.piece)
	}
	return nil
}

// say shows a piece of text.
func (a *answer) say(kind, piece string) error {
	if a.show == nil || piece == "" {
		return nil
	}
	delta := model.Delta{Text: piece}
	if kind == "thinking" {
		delta = model.Delta{Reasoning: piece}
	}
	if !a.show(delta) {
		return &chat.Stopped{Err: errEnough}
	}
	return nil
}

// Whole implements [chat.Answer]: some gateways do not stream.
func (a *answer) Whole(body []byte) error {
	d := jsonrpc.NewDecoder(body, maxElements)
	var r wireReply
	r.read(&d)
	switch {
	case d.Err() != nil:
		return d.Err()
	case r.kind == "error":
		return &chat.Reported{Body: body}
	case r.kind != "message":
		return errors.New("the answer is not a message of the Messages API")
	}
	a.stop = r.stop
	return a.start(&r)
}

// parts are the blocks as parts of a run. A call that the bound of the reply has cut off is left out.
func (a *answer) parts() ([]run.Part, error) {
	var out []run.Part
	calls := 0
	for _, b := range a.blocks {
		p := run.Part{Type: run.PartReasoning}
		switch b.kind {
		case "text":
			if p = (run.Part{Type: run.PartText, Text: b.text.String()}); p.Text == "" {
				continue
			}
		case "thinking":
			p.Text, p.Provider = b.text.String(), keep(signatureKey, b.signature.String())
		case "redacted_thinking":
			p.Provider = keep(redactedKey, b.signature.String())
		case "tool_use":
			if calls++; calls > maxCalls {
				return nil, fmt.Errorf("more than %d calls", maxCalls)
			}
			input := strings.TrimSpace(b.text.String())
			if finish(a.stop) == model.FinishLength && input != "" && !json.Valid([]byte(input)) {
				continue
			}
			if input == "" {
				input = "{}"
			}
			p = run.Part{Type: run.PartCall, ID: b.id, Name: b.name, Arguments: input}
		default:
			p.Provider = map[string]json.RawMessage{blockKey: b.raw}
		}
		out = append(out, p)
	}
	return out, nil
}

func keep(key, text string) map[string]json.RawMessage {
	raw, _ := json.Marshal(text) // a string always marshals
	return map[string]json.RawMessage{key: raw}
}

// finish is the word of package model for why a reply ended.
func finish(stop string) string {
	switch stop {
	case "end_turn", "stop_sequence":
		return model.FinishStop
	case "tool_use":
		return model.FinishCalls
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishLength
	case "refusal":
		return model.FinishRefusal
	}
	return stop
}

// freshIDs gives each call an id that no call of the conversation has.
func freshIDs(history []run.Message, parts []run.Part) {
	taken := map[string]bool{}
	for i := range history {
		for j := range history[i].Parts {
			if p := &history[i].Parts[j]; p.Type == run.PartCall {
				taken[p.ID] = true
			}
		}
	}
	for i := range parts {
		if parts[i].Type != run.PartCall {
			continue
		}
		for n := len(taken); parts[i].ID == "" || taken[parts[i].ID]; n++ {
			parts[i].ID = fmt.Sprintf("call_%d", n)
		}
		taken[parts[i].ID] = true
	}
}
