package otelagent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// The attributes of content.
const (
	keyInputMessages   = attribute.Key("gen_ai.input.messages")
	keyOutputMessages  = attribute.Key("gen_ai.output.messages")
	keyInstructions    = attribute.Key("gen_ai.system_instructions")
	keyToolDefinitions = attribute.Key("gen_ai.tool.definitions")
	keyToolDescription = attribute.Key("gen_ai.tool.description")
	keyToolArguments   = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult      = attribute.Key("gen_ai.tool.call.result")
)

// writer writes content as the conventions' JSON, each attribute within a limit.
type writer struct{ limit int }

// part is a part of a message. Which members it has depends on its type in the conventions.
type part struct {
	Type      string          `json:"type"`
	Content   *string         `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  json.RawMessage `json:"response,omitempty"`
	Modality  string          `json:"modality,omitempty"`
	MIMEType  string          `json:"mime_type,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Size      int             `json:"byte_size,omitempty"`
}

type message struct {
	Role   run.Role `json:"role"`
	Parts  []part   `json:"parts"`
	Finish string   `json:"finish_reason,omitempty"` // only for output; required by version 1.41 of the conventions
}

func (w *writer) invocation(v *agent.Invocation, finish string) []attribute.KeyValue {
	out := slices.Concat(w.instructions(v.System), w.messages(keyInputMessages, v.History))
	if v.Output != nil {
		out = append(out, w.output(*v.Output, finish)...)
	}
	return out
}

func (w *writer) inference(v *agent.Inference) []attribute.KeyValue {
	q := v.Request
	out := slices.Concat(w.instructions(q.System), w.messages(keyInputMessages, q.Messages), w.tools(q.Tools))
	if r := v.Response; r != nil && len(r.Message.Parts) > 0 {
		out = append(out, w.output(r.Message, r.Finish)...)
	}
	return out
}

// execution returns the content of a span execute_tool. Arguments that are not an object, and what is
// longer than the limit, are left out. A result that is not an object becomes its member "content".
func (w *writer) execution(v *agent.Execution) []attribute.KeyValue {
	out := text(keyToolDescription, w.cut(v.Description))
	if arguments := json.RawMessage(v.Arguments); isObject(arguments) {
		out = append(out, w.value(keyToolArguments, encode(arguments))...)
	}
	if v.Result == nil {
		return out
	}
	result := encode(w.response(v.Result))
	if !isObject(result) {
		result = encode(map[string]json.RawMessage{"content": result})
	}
	return append(out, w.value(keyToolResult, result)...)
}

func (w *writer) instructions(system string) []attribute.KeyValue {
	if system == "" {
		return nil
	}
	return w.list(keyInstructions, [][]byte{encode(w.text("text", system))})
}

// output returns the attribute of a reply, none if it does not fit.
func (w *writer) output(m run.Message, finish string) []attribute.KeyValue {
	out := w.message(m)
	out.Finish = finish
	return w.list(keyOutputMessages, [][]byte{encode(out)})
}

// messages returns an attribute of messages. The oldest ones that do not fit are left out.
func (w *writer) messages(key attribute.Key, all []run.Message) []attribute.KeyValue {
	var items [][]byte
	size := len("[]")
	for _, m := range slices.Backward(all) {
		item := encode(w.message(m))
		size += len(item) + len(",")
		if size > w.limit {
			break
		}
		items = append(items, item)
	}
	slices.Reverse(items)
	return w.list(key, items)
}

// tools returns the attribute of tool definitions. The last ones that do not fit are left out.
func (w *writer) tools(all []model.Tool) []attribute.KeyValue {
	var items [][]byte
	size := len("[]")
	for _, t := range all {
		item := encode(struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}{"function", t.Name, w.cut(t.Description), t.Schema})
		if string(item) == "null" {
			continue // parameters that are not JSON
		}
		size += len(item) + len(",")
		if size > w.limit {
			break
		}
		items = append(items, item)
	}
	return w.list(keyToolDefinitions, items)
}

// list returns an attribute of JSON items, none if there are none or they do not fit.
func (w *writer) list(key attribute.Key, items [][]byte) []attribute.KeyValue {
	if len(items) == 0 {
		return nil
	}
	return w.value(key, slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")))
}

// value returns an attribute of JSON, none if it does not fit.
func (w *writer) value(key attribute.Key, value []byte) []attribute.KeyValue {
	if len(value) > w.limit {
		return nil
	}
	return []attribute.KeyValue{key.String(string(value))}
}

// message translates a message. The media of a result follow it as parts of their own.
func (w *writer) message(m run.Message) message {
	out := message{Role: m.Role, Parts: make([]part, 0, len(m.Parts))}
	for i := range m.Parts {
		out.Parts = append(out.Parts, w.part(&m.Parts[i]))
		for j := range m.Parts[i].Media {
			out.Parts = append(out.Parts, w.part(&m.Parts[i].Media[j]))
		}
	}
	return out
}

// part translates a part. What the conventions do not know is text.
func (w *writer) part(p *run.Part) part {
	switch p.Type {
	case run.PartReasoning:
		return w.text("reasoning", p.Text)
	case run.PartCall:
		return part{Type: "tool_call", ID: p.ID, Name: p.Name, Arguments: w.arguments(p.Arguments)}
	case run.PartResult:
		return part{Type: "tool_call_response", ID: p.ID, Response: w.response(p)}
	case run.PartImage, run.PartAudio, run.PartFile:
		return w.media(p)
	}
	return w.text("text", p.Text)
}

func (w *writer) text(kind, content string) part {
	content = w.cut(content)
	return part{Type: kind, Content: &content}
}

// arguments returns the arguments of a call, as a JSON string if they are invalid or too long.
func (w *writer) arguments(arguments string) json.RawMessage {
	if len(arguments) <= w.maxText() && json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	return encode(w.cut(arguments))
}

// response returns the structured content of a result, or its text.
func (w *writer) response(p *run.Part) json.RawMessage {
	if n := len(p.Structured); n > 0 && n <= w.maxText() && json.Valid(p.Structured) {
		return p.Structured
	}
	return encode(w.cut(p.Text))
}

// media returns a part of media. Data that is too long, or in a URL, is left out: then the part has its
// size.
func (w *writer) media(p *run.Part) part {
	out := part{Type: "uri", Modality: modality(p), MIMEType: p.MIMEType}
	switch {
	case len(p.URL) > w.maxText(), len(p.Data) > w.maxText(), strings.HasPrefix(p.URL, "data:"):
		out.Type = "omitted"
		out.Size = max(len(p.Data), len(p.URL))
	case p.URL != "":
		out.URI = p.URL
	default:
		out.Type = "blob"
		out.Content = new(base64.StdEncoding.EncodeToString(p.Data))
	}
	return out
}

func modality(p *run.Part) string {
	switch {
	case p.Type == run.PartImage:
		return "image"
	case p.Type == run.PartAudio:
		return "audio"
	case strings.HasPrefix(p.MIMEType, "video/"):
		return "video"
	}
	return "document"
}

// maxText returns the bound of one text within an attribute, in bytes.
func (w *writer) maxText() int { return w.limit / 8 }

// cut cuts a text to the bound, and replaces what is not UTF-8.
func (w *writer) cut(s string) string {
	return excerpt.Limit(strings.ToValidUTF8(s, "\uFFFD"), w.maxText())
}

func isObject(text []byte) bool { return jsonrpc.IsObject(text) && json.Valid(text) }

// encode returns JSON in UTF-8 without HTML escapes, null for a value that cannot be encoded.
func encode(v any) []byte {
	data, err := jsonrpc.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return data
}
