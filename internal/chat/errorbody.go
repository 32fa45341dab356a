package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// errorWire has the members of an error that some host sends.
type errorWire struct {
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Message json.RawMessage `json:"message"` // text, or a list of texts
	Code    scalar          `json:"code"`
	Type    scalar          `json:"type"`
	Status  scalar          `json:"status"`
	Inner   struct {
		Code scalar `json:"code"`
	} `json:"innererror"`
	Metadata struct {
		Raw json.RawMessage `json:"raw"`
	} `json:"metadata"`
}

// scalar is a string, or the text of a number; "" for another value.
type scalar string

// UnmarshalJSON never fails.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	*s = scalar(decodeScalar(raw))
	return nil
}

func parseErrorBody(contentType string, body []byte) errorBody {
	body = bytes.TrimSpace(body[:min(len(body), maxErrorBody)])
	if len(body) == 0 {
		return errorBody{}
	}
	if w, ok := decodeError(body); ok {
		return w.read(3)
	}
	return errorBody{message: plainText(contentType, body)}
}

// decodeError reads an object, or the first one of a list. It returns false for other JSON.
func decodeError(body []byte) (w errorWire, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	err := json.Unmarshal(body, &w)
	_, otherKind := errors.AsType[*json.UnmarshalTypeError](err) // of a member; the others are read
	return w, err == nil || otherKind && jsonrpc.IsObject(body)
}

// read returns the information in a failure. depth bounds errors inside errors.
func (w *errorWire) read(depth int) errorBody {
	if len(w.Error) > 0 && string(w.Error) != "null" && depth > 0 {
		if text, ok := decodeString(w.Error); ok {
			return errorBody{message: wellFormed(text)}
		}
		if inner, ok := decodeError(w.Error); ok {
			return inner.read(depth - 1)
		}
	}
	out := errorBody{message: wellFormed(decode(context.Background(), w.Message).text()), code: string(w.Code)}
	if status, err := strconv.Atoi(out.code); err == nil {
		out.code = ""
		if status >= 400 && status < 600 {
			out.status = status
		}
	}
	out.code = cmp.Or(out.code, string(w.Type), string(w.Status), string(w.Inner.Code))
	if out.message == "" {
		out.message = detailText(w.Detail)
	}
	if raw := w.Metadata.Raw; len(raw) > 0 && depth > 0 {
		text, _ := decodeString(raw)
		upstream := errorBody{message: wellFormed(text)}
		if inner, ok := decodeError([]byte(cmp.Or(text, string(raw)))); ok {
			upstream = inner.read(depth - 1)
		}
		out.message = strings.TrimSuffix(out.message+": "+upstream.message, ": ")
		out.code = cmp.Or(out.code, upstream.code)
	}
	return out
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
func plainText(contentType string, body []byte) string {
	body = bytes.TrimSpace(body[:min(len(body), maxErrorBody)])
	if strings.HasPrefix(contentType, "text/html") || bytes.HasPrefix(body, []byte("<")) {
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
