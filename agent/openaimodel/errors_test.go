package openaimodel

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

// TestErrors has failures that are known to agents and to langchaingo.
func TestErrors(t *testing.T) {
	isNotFound := func(err error) bool { return errors.Is(err, &llms.Error{Code: llms.ErrCodeResourceNotFound}) }
	for _, tt := range []struct {
		name   string
		status int
		body   string
		is     func(error) bool
		kind   model.ErrorKind
	}{
		{"key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `","code":"invalid_api_key"}}`, llms.IsAuthenticationError, model.ErrorAuth},
		{"credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, llms.IsAuthenticationError, model.ErrorAuth},
		{"rate", 429, `{"error":{"message":"slow down","type":"requests"}}`, llms.IsRateLimitError, model.ErrorRateLimit},
		{"quota", 400, `{"error":{"message":"pay","code":"billing_hard_limit_reached"}}`, llms.IsQuotaExceededError, model.ErrorAuth},
		{"length", 400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, llms.IsTokenLimitError, model.ErrorTooLong},
		{"request", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llms.IsInvalidRequestError, model.ErrorInvalid},
		{"model", 404, `{"error":"model not found"}`, isNotFound, model.ErrorNotFound},
		{"moved", 307, ``, isNotFound, model.ErrorNotFound},
		{"too slow", 408, ``, llms.IsTimeoutError, model.ErrorTimeout},
		{"down", 503, ``, llms.IsProviderUnavailableError, model.ErrorUnavailable},
		{"Groq cannot read a call", 400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`, llms.IsProviderUnavailableError, model.ErrorUnavailable},
		{"under 200", 200, `{"error":{"message":"upstream","code":502}}`, llms.IsProviderUnavailableError, model.ErrorUnavailable},
	} {
		m, _ := newModel(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.Header().Set("Location", "https://stranger.example")
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		}, &Options{Retries: -1})
		_, err := m.GenerateContent(t.Context(), human("Hi"))
		got, ok := errors.AsType[*model.Error](err)
		waits := got != nil && got.RetryAfter == 90*time.Second
		check.That(t, ok && got.Kind == tt.kind && tt.is(err) && waits == (tt.status != 307) && !strings.Contains(err.Error(), testKey), "%s: got %+v, %v", tt.name, got, err)
	}
}

// A stream that fails after it has begun was not repeated: an agent may do so.
func TestFailuresOfStreams(t *testing.T) {
	for name, tt := range map[string]struct {
		api, event string
		want       model.ErrorKind
	}{
		"upstream":    {"chat", `{"error":{"message":"upstream","code":502}}`, model.ErrorUnavailable},
		"cut off":     {"chat", `{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`, model.ErrorUnavailable},
		"no call":     {"chat", `{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}`, model.ErrorUnavailable},
		"host failed": {"responses", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}`, model.ErrorUnavailable},
		"rate":        {"responses", `{"type":"error","code":"rate_limit_exceeded","message":"slow down"}`, model.ErrorRateLimit},
	} {
		asked := 0
		m, _ := newModel(t, func(w http.ResponseWriter, r *http.Request) { asked++; fakehost.Streaming("data: "+tt.event)(w, r) }, &Options{API: tt.api})
		var err error
		for _, err = range m.Generate(t.Context(), &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}, Stream: true}) {
		}
		got, ok := errors.AsType[*model.Error](err)
		check.That(t, ok && got.Kind == tt.want && !got.Retried && asked == 1,
			"%s: got %+v after %d requests; want kind %d, not repeated", name, got, asked, tt.want)
	}
}

// TestEndpointOfAnEmptyReply continues at Responses after a reply whose only call was cut off.
func TestEndpointOfAnEmptyReply(t *testing.T) {
	m, _ := newModel(t, answering(`{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[`+
		`{"type":"function_call","call_id":"c","name":"f","arguments":""}]}`), &Options{API: "responses"})
	reply, _, err := generate(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}})
	check.Must(t, err)
	check.That(t, reply.Endpoint == "responses" && len(reply.Message.Parts) == 0, "got %+v", reply)
}
