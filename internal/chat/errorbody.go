package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"strconv"
	"strings"
)

// errorBody is the information in the body of a failed request. Hosts send these shapes:
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
	error, detail json.RawMessage
	message       string
	codes         [4]string // code, type, status, code of the inner error
}

func parseErrorBody(contentType string, body []byte) errorBody {
	body = bytes.TrimSpace(body[:min(len(body), maxErrorBody)])
	if len(body) == 0 {
		return errorBody{}
	}
	if w, err := decode(context.Background(), body).failure(); err == nil {
		return w.read(3)
	}
	return errorBody{message: plainText(contentType, body)}
}

// failure reads the body: an object, or the first one of a list.
func (d *decoder) failure() (w errorWire, err error) {
	if !d.opens('[') {
		w = d.failureObject()
		return w, d.End()
	}
	for i := range d.Elements {
		if i == 0 && d.opens('{') {
			w = d.failureObject()
		}
	}
	return w, d.End()
}

// failureObject reads the members of an error that some host sends.
func (d *decoder) failureObject() (w errorWire) {
	for key := range d.Members {
		switch string(key) {
		case "error":
			w.error = d.Raw()
		case "detail":
			w.detail = d.Raw()
		case "message":
			w.message = d.text()
		case "code":
			w.codes[0] = d.scalar()
		case "type":
			w.codes[1] = d.scalar()
		case "status":
			w.codes[2] = d.scalar()
		case "innererror":
			for key := range d.objectMembers() {
				if string(key) == "code" {
					w.codes[3] = d.scalar()
				}
			}
		}
	}
	return w
}

// objectMembers ranges over the members of an object; another value has none.
func (d *decoder) objectMembers() iter.Seq[[]byte] {
	if d.opens('{') {
		return d.Members
	}
	return func(func([]byte) bool) {}
}

// read returns the information in a failure. depth bounds errors inside errors.
func (w *errorWire) read(depth int) errorBody {
	if len(w.error) > 0 && string(w.error) != "null" && depth > 0 {
		if text, ok := decodeString(w.error); ok {
			return errorBody{message: wellFormed(text)}
		}
		if inner, err := decode(context.Background(), w.error).failure(); err == nil {
			return inner.read(depth - 1)
		}
	}
	out := errorBody{message: wellFormed(w.message), code: w.codes[0]}
	if status, err := strconv.Atoi(out.code); err == nil {
		out.code = ""
		if status >= 400 && status < 600 {
			out.status = status
		}
	}
	out.code = cmp.Or(out.code, w.codes[1], w.codes[2], w.codes[3])
	if out.message == "" {
		out.message = detailText(w.detail)
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
