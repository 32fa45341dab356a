package anthropicmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Bounds of a reply, in addition to the bound of its bytes.
const (
	maxBlocks = 1_024
	maxCalls  = 256
	maxName   = 256     // bytes of a name of a tool or a model, and of other short strings
	maxID     = 4 << 10 // bytes of a call's id
	maxCount  = 1 << 30 // tokens
)

// answer is a [chat.Answer]: it assembles a reply from the events of a stream or from one message.
type answer struct {
	show func(model.Delta) error // nil: no deltas are wanted; its error ends the request

	id, model string
	blocks    []*replyBlock
	calls     int  // among the blocks
	ended     bool // with message_stop, or in one piece
	stop      string
	refusal   string // why the provider refused, if it says so
	usage     usage
}

// replyBlock is a block of a reply as it grows.
type replyBlock struct {
	kind      string
	text      bytes.Buffer    // of a text or a thought
	begun     json.RawMessage // the input with which a call began, unless it is empty
	input     bytes.Buffer    // the pieces of the input, which replace begun
	signature bytes.Buffer    // of a thought, or the data of a redacted one
	id, name  string
	raw       json.RawMessage // the block as it began, if this package does not know its type
}

// event has the members of all kinds of events that matter here. Those of another JSON kind than
// the API defines are taken as absent.
type event struct {
	Type    string           `json:"type"`
	Index   int              `json:"index"`
	Message *message         `json:"message"`
	Block   json.RawMessage  `json:"content_block"`
	Delta   piece            `json:"delta"`
	Usage   *usage           `json:"usage"`
	Error   *json.RawMessage `json:"error"`
}

// message is a message of the API; its content is empty at the start of a stream.
type message struct {
	Type    string           `json:"type"`
	ID      string           `json:"id"`
	Model   string           `json:"model"`
	Stop    string           `json:"stop_reason"`
	Details stopDetails      `json:"stop_details"`
	Content json.RawMessage  `json:"content"`
	Usage   *usage           `json:"usage"`
	Error   *json.RawMessage `json:"error"`
}

// piece is a block as it begins, or a change of a block or of the message.
type piece struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"` // redacted_thinking only
	Input     json.RawMessage `json:"input"`
	InputText string          `json:"partial_json"`
	Stop      string          `json:"stop_reason"`
	Details   stopDetails     `json:"stop_details"`
}

// stopDetails explains a refusal.
type stopDetails struct {
	Category    string `json:"category"`
	Explanation string `json:"explanation"`
}

func (d *stopDetails) String() string {
	return excerpt.Cut(strings.Trim(d.Category+": "+d.Explanation, ": "))
}

// usage has the API's token counts; 0 is a count that is missing or cannot be true.
type usage struct {
	Input   tokens `json:"input_tokens"`
	Output  tokens `json:"output_tokens"`
	Cached  tokens `json:"cache_read_input_tokens"`
	Written tokens `json:"cache_creation_input_tokens"`
	Details struct {
		Thoughts tokens `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// tokens is a count of tokens.
type tokens int

// UnmarshalJSON keeps the count before if the new one is 0 or cannot be true.
func (t *tokens) UnmarshalJSON(raw []byte) error {
	var n int
	if json.Unmarshal(raw, &n) == nil && 0 < n && n <= maxCount {
		*t = tokens(n)
	}
	return nil
}

// decode reads an object. Members of another kind than into has are skipped.
func decode(data []byte, into any) error {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return errors.New("not a JSON object")
	}
	err := json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// short returns a copy of a string of the provider, cut to maxName.
func short(s string) string { return strings.Clone(excerpt.CutAt(s, maxName)) }

// Event implements [chat.Answer].
func (a *answer) Event(_ string, data []byte) (done bool, err error) {
	// All counts go to a.usage, wherever they stand; see tokens for why no event takes one away.
	e := event{Message: &message{Usage: &a.usage}, Usage: &a.usage}
	if err := decode(data, &e); err != nil {
		return false, fmt.Errorf("event stream: %w", err)
	}
	switch e.Type {
	case "":
		if e.Error != nil {
			return false, &chat.Reported{Body: data}
		}
	case "message_start":
		return false, a.start(e.Message)
	case "content_block_start":
		return false, a.startBlock(e.Index, e.Block)
	case "content_block_delta":
		return false, a.addPiece(e.Index, &e.Delta)
	case "message_delta":
		if e.Delta.Stop != "" { // a later one may only count
			a.stop, a.refusal = short(e.Delta.Stop), e.Delta.Details.String()
		}
	case "message_stop":
		a.ended = true
		return true, nil
	case "error":
		return false, &chat.Reported{Body: data}
	}
	return false, nil // ping, content_block_stop, and kinds that are unknown yet
}

// Complete implements [chat.Answer]: some gateways omit the last event.
func (a *answer) Complete() bool { return a.stop != "" }

// End implements [chat.Answer]: a gateway also ends a stream that its host has broken off.
func (a *answer) End() error {
	if !a.ended && !a.Complete() {
		return &chat.Error{Code: chat.CodeTruncated, Message: "the stream ended before the model did"}
	}
	return nil
}

// Whole implements [chat.Answer]: some gateways do not stream.
func (a *answer) Whole(body []byte) error {
	m := message{Usage: &a.usage}
	switch err := decode(body, &m); {
	case err != nil:
		return err
	case m.Type == "error", m.Type == "" && m.Error != nil: // the latter of gateways
		return &chat.Reported{Body: body}
	case m.Type != "message":
		return errors.New("answer is not a message of the Messages API")
	}
	a.ended, a.stop, a.refusal = true, short(m.Stop), m.Details.String()
	return a.start(&m)
}

// start begins the reply with a message and its blocks, if it has any. nil is a null in the stream.
func (a *answer) start(m *message) error {
	if m == nil {
		return nil
	}
	a.id, a.model = short(m.ID), short(m.Model)
	d := jsonrpc.NewDecoder(m.Content, maxBlocks)
	if d.Kind() != '[' {
		return nil
	}
	for range d.Elements {
		if err := a.startBlock(len(a.blocks), d.Raw()); err != nil {
			return err
		}
	}
	return d.Err()
}

// startBlock adds a block with its first content.
func (a *answer) startBlock(index int, raw json.RawMessage) error {
	switch {
	case index != len(a.blocks):
		return fmt.Errorf("block %d comes after %d blocks", index, len(a.blocks))
	case index == maxBlocks:
		return fmt.Errorf("more than %d blocks", maxBlocks)
	}
	var begun piece
	if err := decode(raw, &begun); err != nil {
		return fmt.Errorf("block %d: %w", index, err)
	}
	if len(begun.ID) > maxID || len(begun.Name) > maxName {
		return fmt.Errorf("block %d: the id has %d bytes and the name %d; at most %d and %d are allowed",
			index, len(begun.ID), len(begun.Name), maxID, maxName)
	}
	b := &replyBlock{kind: begun.Type, id: begun.ID, name: begun.Name}
	a.blocks = append(a.blocks, b)
	b.signature.WriteString(begun.Signature + begun.Data)
	switch b.kind {
	case "text":
		return a.addText(b, "text", begun.Text)
	case "thinking":
		return a.addText(b, "thinking", begun.Thinking)
	case "redacted_thinking":
	case "tool_use":
		if a.calls++; a.calls > maxCalls {
			return fmt.Errorf("more than %d calls", maxCalls)
		}
		// In a stream, the input follows in pieces. It begins as {}, or as null or "" at some
		// gateways: without brackets, quotes and blanks, at most null is left of it.
		if s := string(bytes.Trim(begun.Input, "{}\" \t\r\n")); s != "" && s != "null" {
			b.begun = begun.Input
		}
	default:
		b.raw = bytes.Clone(raw)
	}
	return nil
}

// addPiece adds a piece to a block.
func (a *answer) addPiece(index int, d *piece) error {
	if index < 0 || index >= len(a.blocks) {
		return fmt.Errorf("piece of block %d, but there are only %d blocks", index, len(a.blocks))
	}
	b := a.blocks[index]
	switch d.Type {
	case "text_delta":
		return a.addText(b, "text", d.Text)
	case "thinking_delta":
		return a.addText(b, "thinking", d.Thinking)
	case "input_json_delta":
		b.input.WriteString(d.InputText)
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	}
	return nil
}

// addText adds a piece of a text or a thought to a block and shows it, unless the block is of another kind: a
// thought is never shown as text.
func (a *answer) addText(b *replyBlock, kind, piece string) error {
	if b.kind != kind {
		return nil
	}
	b.text.WriteString(piece)
	if a.show == nil || piece == "" {
		return nil
	}
	delta := model.Delta{Text: piece}
	if kind == "thinking" {
		delta = model.Delta{Reasoning: piece}
	}
	if err := a.show(delta); err != nil {
		return &chat.Stopped{Err: err}
	}
	return nil
}
