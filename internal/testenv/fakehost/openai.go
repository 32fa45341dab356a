package fakehost

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// fields are the members of a JSON object.
type fields = map[string]any

// Block is a piece of a reply.
type Block struct {
	Type, Text string // Text is the text, the thought or its summary
	ID, Name   string
	Arguments  string // JSON
}

// OpenAI imitates OpenAI's APIs, Responses and Chat Completions. It refuses requests by the published schema and
// by rules of the reference for their model. It encrypts thoughts, and refuses
// thoughts of another key and calls that come back without the thought that led to them. Its blocks
// are "text", "reasoning" and "call". Its Reply makes the reply to a valid request.
type OpenAI struct {
	Key   string // key of the account; it encrypts thoughts
	Reply func(*OpenAIRequest) []Block

	Log[*OpenAIRequest]

	thoughts sync.Map // thoughts, encrypted, by the ids of the calls that they led to
}

// OpenAIRequest is a valid request.
type OpenAIRequest struct {
	Path  string // "/v1/responses" or "/v1/chat/completions"
	Model string
	Body  []byte
	Input []json.RawMessage // input of Responses
}

// ServeHTTP answers both endpoints.
func (h *OpenAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request := &OpenAIRequest{Path: r.URL.Path, Body: body}
	var stream bool
	switch {
	case r.Header.Get("Authorization") != "Bearer "+h.Key:
		failOpenAI(w, http.StatusUnauthorized, "Incorrect API key provided", "invalid_api_key")
		return
	case r.URL.Path == "/v1/responses":
		stream, err = h.checkResponses(request)
	case r.URL.Path == "/v1/chat/completions":
		stream, err = checkChat(request)
	default:
		failOpenAI(w, http.StatusNotFound, "Invalid URL", "")
		return
	}
	h.Record(request, err)
	if err != nil {
		failOpenAI(w, http.StatusBadRequest, err.Error(), "")
		return
	}
	if blocks := h.Reply(request); request.Path == "/v1/responses" {
		h.respond(w, request, blocks, stream)
	} else {
		complete(w, request, blocks, stream)
	}
}

func failOpenAI(w http.ResponseWriter, status int, message, code string) {
	writeJSON(w, status, fields{"error": fields{"message": message, "type": "invalid_request_error", "code": code}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v))
}

// encode returns the JSON of a value that always has one.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func (h *OpenAI) encrypt(text string) string {
	return base64.StdEncoding.EncodeToString(append(mac(h.Key, text), text...))
}

func mac(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func (h *OpenAI) isOurs(content string) bool {
	data, err := base64.StdEncoding.DecodeString(content)
	return err == nil && len(data) >= sha256.Size && h.encrypt(string(data[sha256.Size:])) == content
}

// tokens counts four bytes as one.
func tokens(r *OpenAIRequest, blocks []Block) (input, output int) {
	for _, b := range blocks {
		output += (len(b.Text)+len(b.Arguments))/4 + 1
	}
	return len(r.Body)/4 + 1, output
}

// respond writes a response of Responses.
func (h *OpenAI) respond(w http.ResponseWriter, r *OpenAIRequest, blocks []Block, stream bool) {
	items := h.items(r, blocks)
	input, output := tokens(r, blocks)
	response := fields{"id": "resp_1", "object": "response", "status": "completed", "model": r.Model, "output": items,
		"usage": fields{"input_tokens": input, "output_tokens": output, "total_tokens": input + output,
			"output_tokens_details": fields{"reasoning_tokens": 1}}}
	if !stream {
		writeJSON(w, http.StatusOK, response)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, item := range items {
		openaiEvent(w, "response.output_item.added", fields{"output_index": i, "item": fields{"type": item["type"]}})
		switch item["type"] {
		case "message":
			openaiEvent(w, "response.output_text.delta", fields{"output_index": i, "delta": blocks[i].Text})
		case "reasoning":
			openaiEvent(w, "response.reasoning_summary_text.delta", fields{"output_index": i, "delta": blocks[i].Text})
		case "function_call":
			openaiEvent(w, "response.function_call_arguments.delta", fields{"output_index": i, "delta": blocks[i].Arguments})
		}
		openaiEvent(w, "response.output_item.done", fields{"output_index": i, "item": item})
	}
	openaiEvent(w, "response.completed", fields{"response": response})
}

// items returns the blocks as items of Responses. It remembers for each call which thought led to it.
func (h *OpenAI) items(r *OpenAIRequest, blocks []Block) (items []fields) {
	thought := ""
	for i, b := range blocks {
		id := fmt.Sprintf("item_%d_%d", len(r.Input), i)
		switch b.Type {
		case "text":
			items = append(items, fields{"id": id, "type": "message", "role": "assistant", "status": "completed", "phase": "final_answer",
				"content": []any{fields{"type": "output_text", "text": b.Text, "annotations": []any{}}}})
		case "reasoning":
			thought = h.encrypt(b.Text)
			items = append(items, fields{"id": id, "type": "reasoning", "encrypted_content": thought,
				"summary": []any{fields{"type": "summary_text", "text": b.Text}}})
		case "call":
			h.thoughts.Store(b.ID, thought)
			items = append(items, fields{"id": id, "type": "function_call", "status": "completed",
				"call_id": b.ID, "name": b.Name, "arguments": b.Arguments})
		}
	}
	return items
}

func openaiEvent(w io.Writer, kind string, e fields) {
	e["type"] = kind
	event(w, e)
}

func event(w io.Writer, e fields) {
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], encode(e))
}

// complete writes a chat completion, which has no thoughts.
func complete(w http.ResponseWriter, r *OpenAIRequest, blocks []Block, stream bool) {
	message, finish := fields{"role": "assistant"}, "stop"
	var calls []any
	for _, b := range blocks {
		switch b.Type {
		case "text":
			message["content"] = b.Text
		case "call":
			function := fields{"name": b.Name, "arguments": b.Arguments}
			calls = append(calls, fields{"index": len(calls), "id": b.ID, "type": "function", "function": function})
			finish = "tool_calls"
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	input, output := tokens(r, blocks)
	usage := map[string]int{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
	if !stream {
		choice := fields{"index": 0, "message": message, "finish_reason": finish}
		writeJSON(w, http.StatusOK, fields{"id": "c", "model": r.Model, "usage": usage, "choices": []any{choice}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []fields{
		{"id": "c", "model": r.Model, "choices": []any{fields{"index": 0, "delta": message}}},
		{"id": "c", "model": r.Model, "usage": usage, "choices": []any{fields{"index": 0, "delta": fields{}, "finish_reason": finish}}},
	} {
		fmt.Fprintf(w, "data: %s\n\n", encode(chunk))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
