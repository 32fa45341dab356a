package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// errorBody is the information in the body of a failed request. Hosts send these shapes:
//
//	{"error": {"message": …, "code": …, "type": …}}   OpenAI; code may be a number
//	{"error": "text"}                                  Ollama
//	{"object": "error", "message": …, "type": …}       vLLM
//	{"detail": "text"} or {"detail": [{"msg": …}]}     FastAPI
//	[{"error": {…}}]                                   Gemini
//	{"error": {…, "metadata": {"raw": …}}}             OpenRouter; raw is what the model's own host said
//	a page of HTML, a line of text, nothing            whatever stands in front
type errorBody struct {
	message string
	code    string
	status  int // HTTP status in the body, or 0
}

// readErrorBody reads the body of a failed request.
func readErrorBody(body []byte) errorBody {
	body = bytes.TrimSpace(body[:min(len(body), maxErrorBody)])
	if b, ok := readError(body, 4); ok {
		return b
	}
	return errorBody{message: plainText(body)}
}

// readError reads an object, or the first one of a list. It returns false for another text. depth bounds errors inside
// errors.
func readError(raw []byte, depth int) (out errorBody, ok bool) {
	if depth == 0 || !json.Valid(raw) {
		return out, false
	}
	for first := range elements(raw) {
		raw = first
		break
	}
	if !jsonrpc.IsObject(raw) {
		return out, false
	}
	inner := jsonrpc.Lookup(raw, "error")
	if text, ok := decodeString(inner); ok {
		return errorBody{message: wellFormed(text)}, true
	}
	if out, ok := readError(inner, depth-1); ok {
		return out, true
	}
	word := func(path ...string) string { return decodeScalar(jsonrpc.Lookup(raw, path...)) }
	message := jsonrpc.Lookup(raw, "message")
	if message == nil {
		message = jsonrpc.Lookup(raw, "Message") // AWS
	}
	out.message = cmp.Or(wellFormed(decode(context.Background(), message).text()), detailText(jsonrpc.Lookup(raw, "detail")))
	out.code = word("code")
	if status, err := strconv.Atoi(out.code); err == nil {
		out.code = ""
		if status >= 400 && status < 600 {
			out.status = status
		}
	}
	out.code = cmp.Or(out.code, word("type"), word("status"), word("innererror", "code"))
	if upstream := jsonrpc.Lookup(raw, "metadata", "raw"); upstream != nil {
		text, _ := decodeString(upstream)
		b, ok := readError([]byte(cmp.Or(text, string(upstream))), depth-1)
		if !ok {
			b.message = wellFormed(text)
		}
		out.message = strings.TrimSuffix(out.message+": "+b.message, ": ")
		out.code = cmp.Or(out.code, b.code)
	}
	return out, true
}

// detailText reads FastAPI's list of mistakes.
func detailText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct {
		Msg string `json:"msg"`
		Loc []any  `json:"loc"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, d := range list {
		part := d.Msg
		if n := len(d.Loc); n > 0 {
			if field, ok := d.Loc[n-1].(string); ok {
				part = field + ": " + part
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

var titleElement = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// plainText returns a body that is not JSON on one line; for HTML, only the title.
func plainText(body []byte) string {
	body = bytes.TrimSpace(bytes.TrimPrefix(body[:min(len(body), maxErrorBody)], []byte("\uFEFF")))
	if bytes.HasPrefix(body, []byte("<")) {
		title := titleElement.FindSubmatch(body)
		if title == nil {
			return "a page of HTML"
		}
		return "a page of HTML: " + strings.Join(strings.Fields(string(title[1])), " ")
	}
	return strings.Join(strings.Fields(string(body[:min(len(body), 4*maxQuoted)])), " ")
}

// hasError reports whether an answer with status 200 contains an error.
func hasError(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}
