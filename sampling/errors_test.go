package sampling

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestModelFailures(t *testing.T) {
	const inner = "internal-gateway.example"
	fail := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name string
		host http.HandlerFunc
		data string
	}{
		{"key", fail(401, `{"error":{"message":"bad key `+testKey+` at `+inner+`","code":"invalid_api_key"}}`), `{"reason":"host_refusal","status":401,"retryable":false}`},
		{"rate", fail(429, `{"error":{"message":"org-`+inner+`"}}`), `{"reason":"rate_limit","status":429,"retryable":true}`},
		{"down", fail(500, `<html><title>`+inner+`</title>`), `{"reason":"host_failure","status":500,"retryable":true}`},
		{"too long", fail(400, `{"error":{"message":"`+inner+`","code":"context_length_exceeded"}}`), `{"reason":"context_length","status":400,"retryable":false}`},
		{"no JSON", fail(200, inner), `{"reason":"bad_answer","retryable":false}`},
		{"error under 200", fail(200, `{"error":{"message":"`+inner+`","code":503}}`), `{"reason":"host_failure","status":503,"retryable":true}`},
		{"filter", fail(200, `{"choices":[{"message":{},"finish_reason":"content_filter"}]}`), `{"reason":"content_filter","retryable":false}`},
		{"no choice", fail(200, `{"choices":[]}`), `{"reason":"bad_answer","retryable":false}`},
		{"too large", fail(200, `{"x":"`+strings.Repeat("x", 2000)+`"}`), `{"reason":"too_large","retryable":false}`},
		{"gone", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, `{"reason":"unreachable","retryable":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, tt.host)
			var log bytes.Buffer
			s := h.sampler(t, &Options{Retries: -1, maxReply: 1000, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			_, err := s.CreateMessage(t.Context(), question(t, hi))
			rpc, ok := errors.AsType[*mcp.RPCError](err)
			if !ok || rpc.Code != mcp.CodeInternalError {
				t.Fatalf("got %v, want an RPCError with code %d", err, mcp.CodeInternalError)
			}
			equalJSON(t, string(rpc.Data), tt.data)
			wire, err := json.Marshal(rpc)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{testKey, inner, "api.openai.com", "memhttp"} {
				if strings.Contains(string(wire), secret) {
					t.Errorf("the server would see %q in %s", secret, wire)
				}
			}
			if strings.Contains(log.String(), testKey) {
				t.Errorf("the key is in the log: %s", log.String())
			}
			if !strings.Contains(log.String(), "level=WARN") {
				t.Errorf("the log says nothing of it: %q", log.String())
			}
		})
	}
}

func TestCancelledAtTheModel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHost(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := h.sampler(t, nil).CreateMessage(ctx, question(t, hi)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
