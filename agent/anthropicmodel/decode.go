package anthropicmodel

import (
	"bytes"
	"cmp"
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

// Bounds of a reply, in addition to that of its bytes.
const (
	maxElements = 10_000 // of one array
	maxBlocks   = 1_024
	maxCalls    = 256
	maxName     = 256     // bytes of a name of a tool or a model, and of other short strings
	maxID       = 4 << 10 // bytes of a call's id
	maxCount    = 1 << 30 // tokens
)

// answer assembles a reply from the events of a stream or from one message.
type answer struct {
	show func(model.Delta) bool // nil: no deltas are wanted; it returns false to end the request

	id, model string
	blocks    []*replyBlock
	stop      string
	usage     usage
}

// replyBlock is a block of a reply as it grows.
type replyBlock struct {
	kind      string
	text      bytes.Buffer // text, thinking, or the input of a call
	signature bytes.Buffer
	id, name  string
	raw       json.RawMessage // the block as it began, if this package does not know its type
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
		return false, a.startBlock(e.index, e.block)
	case "content_block_delta":
		return false, a.addPiece(e.index, &e)
	case "message_delta":
		a.stop = e.stop
		a.usage.update(&e.usage)
	case "message_stop":
		return true, nil
	case "error":
		return false, &chat.Reported{Body: data}
	}
	return false, nil // ping, content_block_stop, and kinds that are unknown yet
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
			e.kind = shortString(d)
		case "index":
			e.index = tokenCount(d.Raw())
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
			e.delta = shortString(d)
		case "text", "thinking", "partial_json", "signature":
			e.piece, _ = d.String()
		case "stop_reason":
			e.stop = shortString(d)
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
			r.kind = shortString(d)
		case "id":
			r.id = shortString(d)
		case "model":
			r.model = shortString(d)
		case "stop_reason":
			r.stop = shortString(d)
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

// usage has the API's token counts; 0 is a count that is missing or cannot be true.
type usage struct{ input, output, cached, written, thoughts int }

func (u *usage) read(d *jsonrpc.Decoder) {
	if d.Kind() != '{' {
		return
	}
	for key := range d.Members {
		switch string(key) {
		case "input_tokens":
			u.input = tokenCount(d.Raw())
		case "output_tokens":
			u.output = tokenCount(d.Raw())
		case "cache_read_input_tokens":
			u.cached = tokenCount(d.Raw())
		case "cache_creation_input_tokens":
			u.written = tokenCount(d.Raw())
		case "output_tokens_details":
			if d.Kind() == '{' {
				for key := range d.Members {
					if string(key) == "thinking_tokens" {
						u.thoughts = tokenCount(d.Raw())
					}
				}
			}
		}
	}
}

// shortString reads a string and cuts it to maxName bytes.
func shortString(d *jsonrpc.Decoder) string {
	s, _ := d.String()
	return strings.Clone(excerpt.CutAt(s, maxName))
}

// tokenCount reads a count. It returns 0 if the count cannot be true.
func tokenCount(raw []byte) int {
	var n int
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > maxCount {
		return 0
	}
	return n
}

func (a *answer) start(r *wireReply) error {
	a.id, a.model = r.id, r.model
	a.usage.update(&r.usage)
	for i, raw := range r.content {
		if err := a.startBlock(i, raw); err != nil {
			return err
		}
	}
	return nil
}

// update replaces the counts that a later event has.
func (u *usage) update(later *usage) {
	u.input, u.cached, u.written = cmp.Or(later.input, u.input), cmp.Or(later.cached, u.cached), cmp.Or(later.written, u.written)
	u.output, u.thoughts = cmp.Or(later.output, u.output), cmp.Or(later.thoughts, u.thoughts)
}

// spent returns the counts as a run has them, for a request and a reply of so many bytes of text. The API counts cached
// tokens apart from the input.
func (u *usage) spent(sent, received int) (s run.Spent) {
	if input := u.input + u.cached + u.written; !chat.TooFew(input, sent) {
		s.Input, s.Cached, s.CacheWrite = int64(input), int64(u.cached), int64(u.written)
	}
	if !chat.TooFew(u.output, received) {
		s.Output, s.Reasoning = int64(u.output), int64(min(u.thoughts, u.output))
	}
	s.Total = s.Input + s.Output
	return s
}

// textSize returns the bytes of texts and calls in parts, without thoughts, as the host drops earlier ones.
func textSize(parts []run.Part) (size int) {
	for i := range parts {
		if parts[i].Type != run.PartReasoning {
			size += len(parts[i].Text) + len(parts[i].Arguments)
		}
	}
	return size
}

// startBlock adds a block with its first content.
func (a *answer) startBlock(index int, raw json.RawMessage) error {
	if index != len(a.blocks) || index == maxBlocks {
		return fmt.Errorf("block %d comes after %d blocks; at most %d are allowed", index, len(a.blocks), maxBlocks)
	}
	b := &replyBlock{}
	a.blocks = append(a.blocks, b)
	d := jsonrpc.NewDecoder(raw, maxElements)
	var input []byte
	for key := range d.Members {
		switch string(key) {
		case "type":
			b.kind = shortString(&d)
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
		return fmt.Errorf("block %d: the id has %d bytes and the name %d; at most %d and %d are allowed", index, len(b.id), len(b.name), maxID, maxName)
	}
	switch b.kind {
	case "text", "thinking":
		return a.emit(b.kind, b.text.String())
	case "redacted_thinking":
	case "tool_use":
		if string(input) != "{}" { // in a stream, the input follows in pieces
			b.text.Write(input)
		}
	default:
		b.raw = bytes.Clone(raw)
	}
	return nil
}

// addPiece adds a piece to a block.
func (a *answer) addPiece(index int, e *event) error {
	if index >= len(a.blocks) {
		return fmt.Errorf("a piece of block %d, but there are only %d blocks", index, len(a.blocks))
	}
	b := a.blocks[index]
	switch e.delta {
	case "text_delta", "thinking_delta":
		b.text.WriteString(e.piece)
		return a.emit(b.kind, e.piece)
	case "input_json_delta":
		b.text.WriteString(e.piece)
	case "signature_delta":
		b.signature.WriteString(e.piece)
	}
	return nil
}

// emit passes a piece of text or of a thought to show.
func (a *answer) emit(kind, piece string) error {
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

// parts returns the blocks as parts of a run. It leaves out the calls of a refused reply, and a call that the bound of the
// reply has cut off, also before its arguments.
func (a *answer) parts() ([]run.Part, error) {
	var out []run.Part
	calls := 0
	for i, b := range a.blocks {
		p := run.Part{Type: run.PartReasoning}
		switch b.kind {
		case "text":
			p = run.Part{Type: run.PartText, Text: b.text.String()}
			if p.Text == "" {
				continue
			}
		case "thinking":
			p.Text, p.Provider = b.text.String(), keep(signatureKey, b.signature.String())
		case "redacted_thinking":
			p.Provider = keep(redactedKey, b.signature.String())
		case "tool_use":
			calls++
			if calls > maxCalls {
				return nil, fmt.Errorf("more than %d calls", maxCalls)
			}
			input := strings.TrimSpace(b.text.String())
			switch {
			case finish(a.stop) == model.FinishRefusal:
				continue // the model took back what it began
			case finish(a.stop) == model.FinishLength && i == len(a.blocks)-1 && !json.Valid([]byte(input)):
				continue
			case input == "":
				input = "{}"
			}
			p = run.Part{Type: run.PartCall, ID: b.id, Name: b.name, Arguments: input}
		default:
			p.Provider = map[string]json.RawMessage{blockKey: b.whole()}
		}
		out = append(out, p)
	}
	return out, nil
}

// whole returns a block of an unknown type, with the input that came in pieces.
func (b *replyBlock) whole() json.RawMessage {
	var members map[string]json.RawMessage
	input := b.text.Bytes()
	if len(input) == 0 || !json.Valid(input) || json.Unmarshal(b.raw, &members) != nil {
		return b.raw
	}
	members["input"] = input
	raw, _ := jsonrpc.Marshal(members) // of valid JSON
	return raw
}

func keep(key, text string) map[string]json.RawMessage {
	raw, _ := json.Marshal(text) // a string always marshals
	return map[string]json.RawMessage{key: raw}
}

// finish translates the reason for the end of a reply to that of package model.
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

// makeIDsUnique replaces the ids of calls that are empty or occur in the conversation.
func makeIDsUnique(history []run.Message, parts []run.Part) {
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
