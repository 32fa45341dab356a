package fakehost

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"sync"
)

// Claude imitates Anthropic's Messages API. It refuses requests by the published schema and by rules of the reference,
// signs thoughts and checks the signatures, and counts the tokens that a prompt cache would read and write. Its blocks are
// "text", "thinking", "redacted_thinking" and "tool_use". Its Reply makes the reply to a valid request.
type Claude struct {
	Key   string // key of the account; it signs thoughts
	Reply func(*ClaudeRequest) []Block
	Stop  string // the stop_reason, instead of what the blocks say

	Log[*ClaudeRequest]

	mu     sync.Mutex
	cached map[[32]byte]bool // prefixes
}

// ServeHTTP answers POST /v1/messages.
func (h *Claude) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/messages":
		failClaude(w, http.StatusNotFound, "not_found_error", "Not found")
	case r.Header.Get("X-Api-Key") != h.Key:
		failClaude(w, http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		failClaude(w, http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	default:
		h.answer(w, body)
	}
}

func failClaude(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, fields{"type": "error", "error": map[string]string{"type": kind, "message": message}})
}

func (h *Claude) answer(w http.ResponseWriter, body []byte) {
	request, err := checkClaude(body, h.sign)
	if err == nil {
		h.mu.Lock()
		request.Usage = h.account(request)
		h.mu.Unlock()
	}
	h.Record(request, err)
	if err != nil {
		failClaude(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	h.stream(w, request, h.Reply(request))
}

func (h *Claude) sign(text string) string {
	return base64.StdEncoding.EncodeToString(mac(h.Key, text))
}

// Usage counts the tokens of a request, four bytes each.
type Usage struct{ Input, Read, Written int }

const leastCached = 1_024 // tokens of a prefix

// account returns the usage of a request. It finds the longest cached prefix, looking back up to 20 blocks from each
// mark, and caches the prefixes that are marked.
func (h *Claude) account(r *ClaudeRequest) (u Usage) {
	var hashes [][32]byte
	var sizes []int
	chain, size := [32]byte{}, 0
	blocks := r.cacheBlocks()
	for _, b := range blocks {
		chain = sha256.Sum256(append(chain[:], b.text...))
		size += len(b.text)
		hashes, sizes = append(hashes, chain), append(sizes, size/4)
	}
	last := 0
	var marked [][32]byte
	for i, b := range blocks {
		if !b.marked || sizes[i] < leastCached {
			continue
		}
		last = sizes[i]
		marked = append(marked, hashes[i])
		for j := i; j >= max(0, i-20); j-- {
			if h.cached[hashes[j]] {
				u.Read = max(u.Read, sizes[j])
				break
			}
		}
	}
	if h.cached == nil {
		h.cached = map[[32]byte]bool{}
	}
	for _, prefix := range marked {
		h.cached[prefix] = true
	}
	u.Written = last - u.Read
	u.Input = size/4 - last
	return u
}

// Price returns the cost of the input, in tokens at the full price: a write costs 1.25, a read 0.1.
func (u Usage) Price() float64 {
	return float64(u.Input) + 1.25*float64(u.Written) + 0.1*float64(u.Read)
}

func (h *Claude) stream(w http.ResponseWriter, r *ClaudeRequest, blocks []Block) {
	w.Header().Set("Content-Type", "text/event-stream")
	u := r.Usage
	stop := "end_turn"
	event(w, fields{"type": "message_start", "message": fields{
		"id": "msg_1", "type": "message", "role": "assistant", "model": r.Model, "content": []any{}, "stop_reason": nil,
		"usage": fields{"input_tokens": u.Input, "cache_read_input_tokens": u.Read,
			"cache_creation_input_tokens": u.Written, "output_tokens": 1},
	}})
	event(w, fields{"type": "ping"})
	output := 1
	for i, b := range blocks {
		start, deltas := h.events(b)
		if b.Type == "tool_use" {
			stop = "tool_use"
		}
		event(w, fields{"type": "content_block_start", "index": i, "content_block": start})
		for _, d := range deltas {
			event(w, fields{"type": "content_block_delta", "index": i, "delta": d})
		}
		event(w, fields{"type": "content_block_stop", "index": i})
		output += (len(b.Text) + len(b.Arguments)) / 4
	}
	if h.Stop != "" {
		stop = h.Stop
	}
	event(w, fields{"type": "message_delta", "delta": fields{"stop_reason": stop}, "usage": map[string]int{"output_tokens": output}})
	event(w, fields{"type": "message_stop"})
}

// events returns the start of a block, and its pieces in two halves.
func (h *Claude) events(b Block) (start fields, deltas []fields) {
	piece := func(kind, field, text string) {
		for half := (len(text) + 1) / 2; len(text) > 0; text = text[min(half, len(text)):] {
			deltas = append(deltas, fields{"type": kind, field: text[:min(half, len(text))]})
		}
	}
	start = fields{"type": b.Type}
	switch b.Type {
	case "text":
		start["text"] = ""
		piece("text_delta", "text", b.Text)
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		piece("thinking_delta", "thinking", b.Text)
		deltas = append(deltas, fields{"type": "signature_delta", "signature": h.sign(b.Text)})
	case "redacted_thinking":
		start["data"] = h.sign("redacted") + b.Text
	case "tool_use":
		maps.Copy(start, fields{"id": b.ID, "name": b.Name, "input": fields{}})
		piece("input_json_delta", "partial_json", b.Arguments)
	}
	return start, deltas
}
