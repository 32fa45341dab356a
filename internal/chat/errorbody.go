package chat

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// errorBody is the information in the body of a failed request. Hosts send
// these shapes:
//
//	{"error": {"message": …, "code": …, "type": …}}   OpenAI; code may be a number
//	{"error": "text"}                                  Ollama
//	{"object": "error", "message": …, "type": …}       vLLM
//	{"detail": "text"} or {"detail": [{"msg": …}]}     FastAPI
//	[{"error": {…}}]                                   Gemini
//	a page of HTML, a line of text, nothing            whatever stands in front
type errorBody struct {
	message string
	code    string
	status  int // HTTP status in the body, or 0
}

type errorWire struct {
	Error   json.RawMessage `json:"error"`
	Object  looseString     `json:"object"`
	Message looseText       `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Code    looseString     `json:"code"`
	Type    looseString     `json:"type"`
	Status  looseString     `json:"status"`
	Inner   struct {
		Code looseString `json:"code"`
	} `json:"innererror"`
}

func parseErrorBody(contentType string, body []byte) errorBody {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return errorBody{}
	}
	if body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var w errorWire
	if json.Unmarshal(body, &w) == nil {
		return w.read(3)
	}
	return errorBody{message: plainText(contentType, body)}
}

// read reads the body's object. depth bounds errors within errors.
func (w *errorWire) read(depth int) errorBody {
	if len(w.Error) > 0 && string(w.Error) != "null" && depth > 0 {
		var text string
		if json.Unmarshal(w.Error, &text) == nil {
			return errorBody{message: text}
		}
		var inner errorWire
		if json.Unmarshal(w.Error, &inner) == nil {
			return inner.read(depth - 1)
		}
	}
	out := errorBody{message: string(w.Message), code: string(w.Code)}
	if status, err := strconv.Atoi(out.code); err == nil {
		out.code = ""
		if status >= 400 && status < 600 {
			out.status = status
		}
	}
	for _, other := range []looseString{w.Type, w.Status, w.Inner.Code} {
		if out.code == "" {
			out.code = string(other)
		}
	}
	if out.message == "" {
		out.message = detailText(w.Detail)
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

// plainText is a body without JSON, on one line; for HTML only the title.
func plainText(contentType string, body []byte) string {
	body = bytes.TrimSpace(body)
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
