package sampling

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ownHost answers like testdata/answers.json, but in this process, and reports
// cancelled requests.
type ownHost struct {
	*httptest.Server
	gaveUp chan struct{} // gets one for each cancelled endless story
}

func newOwnHost(t *testing.T) *ownHost {
	h := &ownHost{gaveUp: make(chan struct{}, 16)}
	h.Server = httptest.NewServer(http.HandlerFunc(h.complete))
	t.Cleanup(h.Close)
	return h
}

type question struct {
	Stream   bool
	Messages []struct{ Role, Content string }
	Tools    []json.RawMessage
}

func (h *ownHost) complete(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
		http.Error(w, fmt.Sprint("bad request: ", err), http.StatusBadRequest)
		return
	}
	last := q.Messages[len(q.Messages)-1]
	switch {
	case last.Role == "tool" && strings.Contains(last.Content, "12 degrees"):
		answer(w, &q, `{"content":"Take a coat."}`)
	case strings.Contains(last.Content, "Berlin") && len(q.Tools) > 0:
		answer(w, &q, `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Berlin\"}"}}]}`)
	case strings.Contains(last.Content, "endless") && q.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"This is"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		h.gaveUp <- struct{}{}
	case strings.Contains(last.Content, "edited"):
		answer(w, &q, `{"content":"An answer to what the reviewer wrote."}`)
	case strings.Contains(last.Content, "question"):
		answer(w, &q, `{"content":"An answer."}`)
	default:
		http.Error(w, "no answer to that", http.StatusNotFound)
	}
}

func answer(w http.ResponseWriter, q *question, message string) {
	const end = `"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"own","choices":[{"index":0,"message":%s,%s`, message, end)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"model\":\"own\",\"choices\":[{\"index\":0,\"delta\":%s,%s\n\ndata: [DONE]\n\n", message, end)
}
