package agent_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// wire answers a provider's HTTP requests with prepared bodies, the last one
// again and again, and keeps the requests.
type wire struct {
	replies  []string
	requests []map[string]any
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	reply := w.replies[min(len(w.requests), len(w.replies)-1)]
	w.requests = append(w.requests, request)
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewReader([]byte(reply))),
		Request:    r,
	}, nil
}

const (
	anthropicAnswer = `{"id":"2","type":"message","role":"assistant","model":"claude","stop_reason":"end_turn",
		"content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":3,"cache_read_input_tokens":7}}`
	openaiAnswer = `{"model":"gpt","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],
		"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}}`
)

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
