package sampling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const urlSecret = "password-in-the-url"

// echo is a careless host's error text with data of the request.
func echo(r *http.Request) string {
	return fmt.Sprintf("%s with %s at https://tenant:%s@%s%s?key=%s", r.Method, r.Header.Get("Authorization"), urlSecret, r.Host, r.URL.Path, urlSecret)
}

// TestFaults makes the host fail in every way, with a whole reply and with a stream. Each failure is a clear error
// within its bound. The server learns neither the host's organisation nor the key, and the log has no secret.
func TestFaults(t *testing.T) {
	failing := func(status int, header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			io.WriteString(w, strings.ReplaceAll(body, "ECHO", echo(r)))
		}
	}
	const chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"
	for _, tt := range []struct {
		name   string
		host   http.HandlerFunc
		data   string
		asked  int
		within time.Duration
	}{
		{"401", failing(401, "", `{"error":{"message":"bad key: ECHO","code":"invalid_api_key"}}`),
			`{"reason":"host_refusal","status":401,"retryable":false}`, 1, 0},
		{"429 with Retry-After", failing(429, "Retry-After: 20", `{"error":{"message":"ECHO"}}`),
			`{"reason":"rate_limit","status":429,"retryable":true}`, 3, 50 * time.Second}, // 20 s twice, and a random quarter
		{"429 with a Retry-After that is too long", failing(429, "Retry-After: 3600", `{"error":{"message":"ECHO"}}`),
			`{"reason":"rate_limit","status":429,"retryable":true}`, 1, 0},
		{"429 for good", failing(429, "", `{"error":{"message":"ECHO","code":"insufficient_quota"}}`), `{"reason":"host_refusal","status":429,"retryable":false}`, 1, 0},
		{"500", failing(500, "", "ECHO"), `{"reason":"host_failure","status":500,"retryable":true}`, 3, 2 * time.Second},
		{"HTML instead of JSON", failing(200, "Content-Type: text/html",
			"<html><title>Sign in ECHO</title>"), `{"reason":"bad_answer","retryable":false}`, 1, 0},
		{"error under 200", failing(200, "", `{"error":{"message":"ECHO","code":402}}`), `{"reason":"host_refusal","status":402,"retryable":false}`, 1, 0},
		{"too long", failing(400, "", `{"error":{"message":"ECHO","code":"context_length_exceeded"}}`),
			`{"reason":"context_length","status":400,"retryable":false}`, 1, 0},
		{"filter", failing(200, "", `{"choices":[{"message":{},"finish_reason":"content_filter"}]}`), `{"reason":"content_filter","retryable":false}`, 1, 0},
		{"no choice", failing(200, "", `{"choices":[]}`), `{"reason":"bad_answer","retryable":false}`, 1, 0},
		{"stream cut before its end", failing(200, "Content-Type: text/event-stream", chunk), `{"reason":"bad_answer","retryable":false}`, 1, 0},
		{"error within a stream", failing(200, "Content-Type: text/event-stream", chunk+`data: {"error":{"message":"ECHO","code":503}}`+"\n\n"),
			`{"reason":"host_failure","status":503,"retryable":true}`, 1, 0},
		{"endless answer", func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for piece := []byte(strings.Repeat(" ", 1<<20)); err == nil; {
				_, err = w.Write(piece)
			}
		}, `{"reason":"too_large","retryable":false}`, 1, 0},
		{"endless silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			`{"reason":"timeout","retryable":false}`, 1, 10 * time.Minute},
		{"silence within a stream", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, chunk)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, `{"reason":"timeout","retryable":false}`, 1, 2 * time.Minute},
		{"connection cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			`{"reason":"unreachable","retryable":true}`, 3, 2 * time.Second},
	} {
		for _, streaming := range []bool{false, true} {
			if strings.Contains(tt.name, "stream") && !streaming {
				continue
			}
			t.Run(fmt.Sprintf("%s/streaming %t", tt.name, streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkFault(t, tt.host, streaming, tt.data, tt.asked, tt.within) })
			})
		}
	}
}

func checkFault(t *testing.T, fault http.HandlerFunc, streaming bool, data string, asked int, within time.Duration) {
	h := newHost(t, fault)
	var log bytes.Buffer
	read := &meter{next: h.Client()}
	opts := &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if streaming {
		opts.OnText = func(context.Context, *Request, string) {}
	}
	cfg := openai.DefaultConfig(testKey)
	cfg.BaseURL = "https://tenant:" + urlSecret + "@llm.example/v1"
	cfg.HTTPClient = read
	s := check.Value(New(cfg, "gpt-4.1", opts))(t)
	start := time.Now()
	_, err := s.CreateMessage(t.Context(), question(t, hi))
	check.That(t, time.Since(start) <= within, "the error came after %v, want %v at most", time.Since(start), within)
	wantRPC(t, err, mcp.CodeInternalError, data)
	h.wantAsked(t, asked)
	const most = 32<<20 + 1<<16
	check.That(t, read.bytes.Load() <= most, "read %d bytes, want %d at most", read.bytes.Load(), most)
	rpc, _ := errors.AsType[*mcp.RPCError](err)
	wire := asJSON(rpc)
	for _, secret := range []string{testKey, urlSecret, "llm.example", "Bearer"} {
		check.That(t, !strings.Contains(wire, secret), "the server would see %q in %s", secret, wire)
	}
	told := strings.Contains(log.String(), testKey) || strings.Contains(log.String(), urlSecret)
	check.That(t, !told && strings.Contains(log.String(), "level=WARN"), "the log tells a secret, or nothing: %s", &log)
}

// meter counts the bytes read from replies.
type meter struct {
	next  *http.Client
	bytes atomic.Int64
}

func (m *meter) Do(r *http.Request) (*http.Response, error) {
	res, err := m.next.Do(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(res.Body, m), res.Body}
	}
	return res, err
}

func (m *meter) Write(p []byte) (int, error) { m.bytes.Add(int64(len(p))); return len(p), nil }
