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
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		is     func(error) bool
		want   chat.Error // the fields that count
	}{
		{"key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `","code":"invalid_api_key"}}`,
			llms.IsAuthenticationError, chat.Error{Status: 401, Code: "invalid_api_key"}},
		{"credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, llms.IsAuthenticationError, chat.Error{Status: 402}},
		{"rate", 429, `{"error":{"message":"slow down","type":"requests"}}`,
			llms.IsRateLimitError, chat.Error{Status: 429, Code: "requests", RetryAfter: 90 * time.Second}},
		{"quota", 400, `{"error":{"message":"pay","code":"billing_hard_limit_reached"}}`,
			llms.IsQuotaExceededError, chat.Error{Status: 400, Code: "insufficient_quota"}},
		{"length", 400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`,
			llms.IsTokenLimitError, chat.Error{Status: 400, Code: "context_length_exceeded"}},
		{"request", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llms.IsInvalidRequestError, chat.Error{Status: 422}},
		{"model", 404, `{"error":"model not found"}`,
			func(err error) bool { return errors.Is(err, &llms.Error{Code: llms.ErrCodeResourceNotFound}) }, chat.Error{Status: 404}},
		{"moved", 307, ``,
			func(err error) bool { return errors.Is(err, &llms.Error{Code: llms.ErrCodeResourceNotFound}) }, chat.Error{Code: "unreachable"}},
		{"too slow", 408, ``, llms.IsTimeoutError, chat.Error{Status: 408}},
		{"down", 503, ``, llms.IsProviderUnavailableError, chat.Error{Status: 503}},
		{"Groq cannot read a call", 400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`,
			llms.IsProviderUnavailableError, chat.Error{Status: 400, Code: "tool_use_failed"}},
		{"under 200", 200, `{"error":{"message":"upstream","code":502}}`, llms.IsProviderUnavailableError, chat.Error{Status: 502}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := newModel(t, func(w http.ResponseWriter, r *http.Request) {
				if tt.status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "90")
				}
				w.Header().Set("Location", "https://stranger.example")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}, &Options{Retries: -1})
			_, err := m.GenerateContent(t.Context(), human("Hi"))
			got, ok := errors.AsType[*chat.Error](err)
			check.Require(t, ok, "got %T: %v, want the failure of the host", err, err)
			check.That(t, got.Status == tt.want.Status && got.Code == tt.want.Code && got.RetryAfter == tt.want.RetryAfter,
				"got %+v, want %+v", got, tt.want)
			check.That(t, tt.is(err), "%v: not the error of langchaingo that it should be", err)
			if _, ok := errors.AsType[*model.Error](err); !ok || strings.Contains(err.Error(), testKey) {
				t.Errorf("%v: got a %T, want a *model.Error, too, without the key", err, err)
			}
		})
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
