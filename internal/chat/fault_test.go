package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

// wantCode checks for an *Error with a code and returns it.
func wantCode(t testing.TB, err error, code string) *Error {
	t.Helper()
	got, ok := errors.AsType[*Error](err)
	check.Require(t, ok, "got %T: %v, want an *Error with code %q", err, err, code)
	check.Equal(t, err, got.Code, code)
	return got
}

func TestFaults(t *testing.T) {
	const page = "<!DOCTYPE html><html><head><title>502\n Bad Gateway</title></head><body>" + testKey + "</body></html>"
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		want Error
	}{
		{"OpenAI's form", failing(401, "", `{"error":{"message":"Incorrect API key provided: sk-tes*********cdef.","type":"invalid_request_error","code":"invalid_api_key"}}`),
			Error{Status: 401, Code: "invalid_api_key", Message: "Incorrect API key provided: [redacted]"}},
		{"type for want of a code", failing(400, "", `{"error":{"message":"m","type":"invalid_request_error","code":null}}`),
			Error{Status: 400, Code: "invalid_request_error", Message: "m"}},
		{"Ollama's form", failing(404, "", `{"error":"model 'x' not found"}`), Error{Status: 404, Message: "model 'x' not found"}},
		{"Gemini's form", failing(400, "", `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`),
			Error{Status: 400, Code: "INVALID_ARGUMENT", Message: "m"}},
		{"vLLM's form", failing(400, "", `{"object":"error","message":"m","type":"BadRequestError","code":400}`),
			Error{Status: 400, Code: "BadRequestError", Message: "m"}},
		{"FastAPI's forms", failing(422, "", `{"detail":[{"loc":["body","model"],"msg":"field required"},{"loc":[],"msg":"x"}]}`),
			Error{Status: 422, Message: "model: field required; x"}},
		{"FastAPI's text", failing(403, "", `{"detail":"Forbidden"}`), Error{Status: 403, Message: "Forbidden"}},
		{"Azure's filter", failing(400, "", `{"error":{"message":"filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`),
			Error{Status: 400, Code: "content_filter", Message: "filtered"}},
		{"a host behind OpenRouter", failing(400, "", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"m\",\"code\":\"x\"}}","provider_name":"p"}}}`),
			Error{Status: 400, Code: "x", Message: "Provider returned error: m"}},
		{"its text behind OpenRouter", failing(502, "", `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"down"}}}`),
			Error{Status: 502, Message: "Provider returned error: down"}},
		{"messages in a list", failing(400, "", `{"error":{"message":["a","b"]}}`), Error{Status: 400, Message: "ab"}},
		{"HTML", failing(502, "Content-Type: text/html", page), Error{Status: 502, Message: "a page of HTML: 502 Bad Gateway"}},
		{"HTML without a title", failing(502, "Content-Type: text/html", "\uFEFF<p>"), Error{Status: 502, Message: "a page of HTML"}},
		{"text", failing(500, "", "Internal\n  Server Error"), Error{Status: 500, Message: "Internal Server Error"}},
		{"nothing", failing(503, "", ""), Error{Status: 503, Message: "service unavailable"}},
		{"JSON that is not an object", failing(500, "", `"oops"`), Error{Status: 500, Message: `"oops"`}},
		{"redirect without a target", failing(304, "", ""), Error{Status: 304, Message: "not modified"}},
		{"wait", failing(429, "Retry-After: 7", `{"error":{"message":"slow","code":"rate_limit_exceeded"}}`),
			Error{Status: 429, Code: "rate_limit_exceeded", Message: "slow", RetryAfter: 7 * time.Second}},
		{"error under 200", failing(200, "", `{"error":{"message":"m","code":"x"}}`), Error{Status: 200, Code: "x", Message: "m"}},
		{"error under 200 with a status", failing(200, "", `{"error":{"message":"m","code":429}}`), Error{Status: 429, Message: "m"}},
		{"error in the choice", failing(200, "", `{"choices":[{"finish_reason":"error","error":{"message":"m","code":502},"message":{"content":"x"}}]}`),
			Error{Status: 502, Message: "m"}},
		{"broken off by the host", failing(200, "", `{"choices":[{"finish_reason":"error","message":{"content":"x"}}]}`),
			Error{Code: CodeTruncated, Message: "the host broke off with finish reason error"}},
		{"broken off at once", failing(200, "", `{"choices":[{"finish_reason":"network_error","message":{}}]}`),
			Error{Code: CodeEmpty, Message: "the host broke off with finish reason network_error"}},
		{"DeepSeek without resources", failing(200, "", `{"choices":[{"finish_reason":"insufficient_system_resource","message":{"content":"x"}}]}`),
			Error{Code: CodeTruncated, Message: "the host broke off with finish reason insufficient_system_resource"}},
		{"vLLM at its end", failing(200, "", `{"choices":[{"finish_reason":"abort","message":{"content":"x"}}]}`),
			Error{Code: CodeTruncated, Message: "the host broke off with finish reason abort"}},
		{"Gemini's call that it cannot read", failing(200, "", `{"choices":[{"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL","message":{"role":"assistant"}}]}`),
			Error{Code: CodeEmpty, Message: "the host broke off with finish reason function_call_filter: MALFORMED_FUNCTION_CALL"}},
		{"withheld", failing(200, "", `{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}`),
			Error{Code: CodeContentFilter, Message: "the host withheld the answer"}},
		{"Azure's refusal of Claude", failing(200, "", `{"choices":[{"finish_reason":"refusal","message":{"content":null}}]}`),
			Error{Code: CodeContentFilter, Message: "the host withheld the answer"}},
		{"no choices", failing(200, "", `{"choices":[]}`), Error{Code: CodeEmpty, Message: "the answer has no choice"}},
		{"null", failing(200, "", `null`), Error{Code: CodeEmpty, Message: "the answer has no choice"}},
		{"HTML under 200", failing(200, "Content-Type: text/html", page), Error{Code: CodeMalformed, Message: "the answer is not a chat completion: a page of HTML: 502 Bad Gateway"}},
		{"cut JSON", failing(200, "", `{"choices":[{"mess`), Error{Code: CodeMalformed, Message: `the answer is not a chat completion: {"choices":[{"mess`}},
		{"empty body", failing(200, "", "\n"), Error{Code: CodeMalformed, Message: "the answer is not a chat completion: it is empty"}},
		{"call without a name", failing(200, "", `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"arguments":"{\"x\":1}"}}]}}]}`),
			Error{Code: CodeMalformed, Message: "a tool call without a name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newHost(t, tt.host).client(t, openAI, &Options{Retries: -1})
			_, whole := c.Complete(t.Context(), hello())
			_, streamed := c.Stream(t.Context(), hello(), Deltas{})
			for _, err := range []error{whole, streamed} {
				got := wantCode(t, err, tt.want.Code)
				check.That(t, got.Status == tt.want.Status && got.Message == tt.want.Message && got.RetryAfter == tt.want.RetryAfter && got.Host == "api.openai.com",
					"got %+v, want %+v at api.openai.com", *got, tt.want)
				noSecrets(t, err)
			}
		})
	}
}

// A base URL without a path, or with that of the endpoint, is the most frequent mistake with a local host.
func TestHintOfAMissingPath(t *testing.T) {
	for name, test := range map[string]struct {
		base, want string
		host       http.HandlerFunc
	}{
		"Ollama":        {"http://u:hunter2-password@memhttp.test", "; check the base URL, try http://memhttp.test/v1", failing(404, "", "404 page not found")},
		"LM Studio":     {"http://memhttp.test/", "; check the base URL, try http://memhttp.test/v1", failing(200, "", `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`)},
		"another path":  {"http://memhttp.test/v1", "; check the base URL and the model's name", failing(404, "", "404 page not found")},
		"the endpoint":  {"http://memhttp.test/v1/chat/completions", "; check the base URL, try http://memhttp.test/v1", failing(404, "", "404 page not found")},
		"another error": {"http://memhttp.test", ": bad", failing(400, "", `{"error":"bad"}`)},
	} {
		_, err := newHost(t, test.host).client(t, test.base, nil).Complete(t.Context(), hello())
		check.That(t, err != nil && strings.HasSuffix(err.Error(), test.want), "%s: got %v, want %q", name, err, test.want)
		noSecrets(t, err)
	}
}

// noSecrets looks for the key and the URL's query in an error and its causes.
func noSecrets(t testing.TB, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for _, secret := range []string{testKey, "hunter2-password", "token-in-the-query"} {
			check.That(t, !strings.Contains(text, secret), "%q is in %s", secret, text)
		}
	}
}

func TestNoSecretsInErrors(t *testing.T) {
	const base = "http://user:hunter2-password@memhttp.test/v1"
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"message":"you sent %s and %s to %s?key=token-in-the-query with user:hunter2-password",`+
			`"code":"%s"}}`, r.Header.Get("Authorization"), testKey, base, testKey)
	}
	h := newHost(t, echo)
	_, err := h.client(t, base, nil).Complete(t.Context(), hello())
	noSecrets(t, err)
	check.Text(t, err, "http://memhttp.test/v1")

	h.Refuse(true)
	h.Drop()
	_, err = h.client(t, base, &Options{Retries: -1}).Complete(t.Context(), hello())
	noSecrets(t, err)
	wantCode(t, err, CodeUnreachable)

	for name, doer := range map[string]doerFunc{
		"quotes the URL": func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("proxy: %w", &url.Error{Op: "Post", URL: r.URL.String() + "?key=token-in-the-query", Err: io.ErrUnexpectedEOF})
		},
		"quotes the headers": func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("sent %v", r.Header) },
	} {
		_, err = newClient(t, base, doer, &Options{Retries: -1}).Complete(t.Context(), hello())
		failure := wantCode(t, err, CodeUnreachable)
		check.That(t, !strings.Contains(failure.Error(), testKey), "%s: the key is in %v", name, failure)
		if name == "quotes the URL" {
			noSecrets(t, err)
			check.Is(t, err, io.ErrUnexpectedEOF, name)
		}
	}
}

// The query of a base URL goes to the host, and the host's errors may quote it.
func TestQueryOfTheBaseURL(t *testing.T) {
	plain := openai.DefaultConfig(testKey)
	plain.BaseURL = "https://memhttp.test/v1/?sig=hunter2-password%2B&x=1"
	for want, cfg := range map[string]openai.ClientConfig{
		"/v1/chat/completions?sig=hunter2-password%2B&x=1": plain,
		"/openai/deployments/m/chat/completions?sig=hunter2-password%2B&x=1&api-version=2024-10-21": azure("https://memhttp.test?sig=hunter2-password%2B&x=1#top",
			"2024-10-21"),
	} {
		var got string
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.URL.RequestURI()
			w.WriteHeader(403)
			fmt.Fprintf(w, `{"error":{"message":"signature %s (%s) is not valid","code":"%s"}}`, r.FormValue("sig"), "hunter2-password%2B", r.FormValue("sig"))
		})
		cfg.HTTPClient = h.Client()
		_, err := check.Value(New(cfg, nil))(t).Complete(t.Context(), hello())
		failure := wantCode(t, err, "[redacted]")
		check.That(t, got == want && failure.Message == "signature [redacted] ([redacted]) is not valid",
			"asked %s, got %q, want %s and the signature redacted", got, failure.Message, want)
		noSecrets(t, err)
	}
}

// The version of Azure's API is not a secret, and people have to see which one is refused.
func TestVersionInErrors(t *testing.T) {
	cfg := azure("https://user:hunter2-password@memhttp.test", "2031-01-01")
	h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"message":"the value %s of api-version is not known"}}`, r.FormValue("api-version"))
	})
	cfg.HTTPClient = h.Client()
	c := check.Value(New(cfg, nil))(t)
	check.Text(t, check.Err(c.Complete(t.Context(), hello())), "the value 2031-01-01 of api-version is not known")
	noSecrets(t, check.Err(c.Complete(t.Context(), &Request{Model: "%", Messages: hello().Messages})))
}

type doerFunc func(*http.Request) (*http.Response, error)

func (f doerFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestLongMessagesAreCut(t *testing.T) {
	h := newHost(t, failing(400, "", `{"error":{"message":"`+strings.Repeat("ä", 4000)+`"}}`))
	n := len(wantCode(t, check.Err(h.client(t, openAI, nil).Complete(t.Context(), hello())), "").Message)
	check.That(t, n <= maxQuoted+len("…"), "got a message of %d bytes, want at most 1 KiB", n)
}

// endless writes until the client stops reading.
func endless(contentType, start, piece string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, start)
		chunk := strings.Repeat(piece, 1+(64<<10)/len(piece))
		for {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
}

func TestReplyIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		host http.HandlerFunc
		code string
	}{
		{"an endless answer", endless("application/json", `{"choices":[{"message":{"content":"`, "x"), CodeTooLarge},
		{"an endless stream", endless("text/event-stream", "", "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"), CodeTooLarge},
		{"an endless event", endless("text/event-stream", "data: ", "x"), CodeTooLarge},
		{"an endless line of bare JSON", endless("text/event-stream", `{"error":"`, "x"), CodeTooLarge},
		{"endless lines of bare JSON", endless("text/event-stream", chunk(`{"content":"x"}`, "")+"\n\n", "{}\n"), CodeTooLarge},
		{"endless comments", endless("text/event-stream", "", ": still here\n\n"), CodeTooLarge},
		{"3 MiB", answering(strings.Repeat("x", 3<<20)), CodeTooLarge},
		{"an endless error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			endless("text/plain", "", "x")(w, nil)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newHost(t, tt.host).client(t, openAI, &Options{Retries: -1})
			c.wire.maxReply = 1 << 20
			wantCode(t, check.Err(c.Complete(t.Context(), hello())), tt.code)
			wantCode(t, check.Err(c.Stream(t.Context(), hello(), Deltas{})), tt.code)
		})
	}
}

func TestAnswerJustWithinTheBound(t *testing.T) {
	c := newHost(t, answering(plainAnswer)).client(t, openAI, nil)
	c.wire.maxReply = int64(len(plainAnswer))
	check.NoError(t, check.Err(c.Complete(t.Context(), hello())), "as long as the bound")
	c.wire.maxReply--
	wantCode(t, check.Err(c.Complete(t.Context(), hello())), CodeTooLarge)
}

func TestAnswerCutByTheNetwork(t *testing.T) {
	h := newHost(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, plainAnswer)
	})
	wantCode(t, check.Err(h.client(t, openAI, nil).Complete(t.Context(), hello())), CodeTruncated)
}

func TestTimeouts(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	streamed := func(first string, comments int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, first+"\n\n")
			w.(http.Flusher).Flush()
			for range comments { // each is within the bound
				time.Sleep(50 * time.Second)
				io.WriteString(w, ": working\n\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}
	}
	complete := chunk(`{"content":"x"}`, "stop")
	for _, tt := range []struct {
		name  string
		host  http.HandlerFunc
		code  string // "": no error
		after time.Duration
	}{{"silence after a complete reply", streamed(complete, 0), "", time.Minute}, {"comments after it", streamed(complete, 9), "", 5 * time.Minute},
		{"no answer", hang, CodeTimeout, 5 * time.Minute}, {"a silent stream", streamed("", 3), CodeIdle, 3*50*time.Second + time.Minute}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tt.host)
				defer h.Close()
				c := h.client(t, openAI, &Options{Timeout: 5 * time.Minute, IdleTimeout: time.Minute})
				start := time.Now()
				if err := check.Err(c.Stream(t.Context(), hello(), Deltas{})); tt.code == "" {
					check.Must(t, err)
				} else {
					wantCode(t, err, tt.code)
				}
				check.Equal(t, "the end came after", time.Since(start), tt.after)
				check.Equal(t, "requests", h.Asked(), 1)
			})
		})
	}
}

func TestCancel(t *testing.T) {
	for _, stream := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
				w.(http.Flusher).Flush()
			}
			cancel()
			<-r.Context().Done()
		})
		_, err := h.client(t, openAI, nil).ask(ctx, hello(), stream, Deltas{})
		check.Is(t, err, context.Canceled, "stream", stream)
	}
}

func TestRefusedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.New(http.NotFoundHandler())
		s.Close()
		dials := 0
		doer := doerFunc(func(r *http.Request) (*http.Response, error) { dials++; return s.Client().Do(r) })
		_, err := newClient(t, openAI, doer, nil).Complete(t.Context(), hello())
		failure := wantCode(t, err, CodeUnreachable)
		check.That(t, dials == 3 && failure.Retryable(), "got %d attempts, retryable %t, want 3, true", dials, failure.Retryable())
		check.That(t, strings.Contains(err.Error(), "at api.openai.com") && strings.Contains(err.Error(), "check the base URL"),
			"got %q, want where and what to do", err)
	})
}

// A base URL with the wrong scheme is no passing failure.
func TestWrongScheme(t *testing.T) {
	server := httptest.NewServer(answering(plainAnswer))
	defer server.Close()
	url := strings.Replace(server.URL, "http:", "https:", 1) + "/v1"
	_, err := newClient(t, url, http.DefaultClient, nil).Complete(t.Context(), hello())
	failure := wantCode(t, err, CodeUnreachable)
	check.That(t, !failure.Retryable() && strings.HasSuffix(err.Error(), "; begin the base URL with http://"), "got %v, retryable %t", err, failure.Retryable())
}

// A callback that takes long is not the silence of the host.
func TestSlowCallback(t *testing.T) {
	for api, lines := range map[string][]string{
		Chat:      {chunk(`{"content":"Hel"}`, ""), chunk(`{"content":"lo"}`, "stop"), "data: [DONE]"},
		Responses: append(events(textItem), completed("response.completed", response("completed", textItem, ""))),
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, streaming(lines...))
			defer h.Close()
			c := h.client(t, openAI, &Options{API: api, IdleTimeout: time.Minute})
			wait := func(string) error { time.Sleep(3 * time.Minute); return nil }
			check.NoError(t, check.Err(c.Stream(t.Context(), hello(), Deltas{Text: wait})), api)
		})
	}
}

// Each host has its own words for a request that is too long.
func TestOverflow(t *testing.T) {
	inOpenAI := func(message string) string { return `{"error":{"message":"` + message + `","code":400}}` }
	for _, tt := range []struct {
		host           string
		status         int
		body           string
		window, prompt int64
		other          bool // another failure
	}{
		{"llama-server", 400, `{"error":{"code":400,"message":"request (200097 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":200097,"n_ctx":8192}}`, 8192, 200097, false},
		{"Ollama", 400, `{"error":{"type":"invalid_request_error","message":"{\"error\":{\"code\":400,\"message\":\"request (9000 tokens) exceeds the available context size (4096 tokens)\"}}"}}`, 4096, 9000, false},
		{"vLLM", 400, inOpenAI(`This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).`), 4096, 5000, false},
		{"vLLM with max_tokens", 400, inOpenAI(`'max_tokens' is too large: 500. This model's maximum context length is 4096 tokens and your request has 4000 input tokens`), 4096, 4000, false},
		{"vLLM's decoder", 400, inOpenAI(`The decoder prompt (length 5000) is longer than the maximum model length of 4096.`), 4096, 5000, false},
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,001 tokens.","code":"context_length_exceeded"}}`, 128000, 130001, false},
		{"OpenAI without numbers", 400, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`, 0, 0, false},
		{"LM Studio", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, 4096, 0, false},
		{"Anthropic", 400, inOpenAI(`prompt is too long: 210000 tokens > 200000 maximum`), 200000, 210000, false},
		{"Anthropic with max_tokens", 400, inOpenAI("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"), 200000, 178959, false},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, 1048576, 1200000, false},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","code":"3051"}`, 32768, 40000, false},
		{"xAI", 400, `{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, 131072, 537812, false},
		{"Moonshot", 400, inOpenAI(`Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)`), 262144, 291351, false},
		{"Together", 400, inOpenAI(`Input (5000 tokens) is longer than the model's context length (4096 tokens).`), 4096, 5000, false},
		{"Copilot", 400, inOpenAI(`prompt token count of 5000 exceeds the limit of 4096`), 4096, 5000, false},
		{"MiniMax", 400, inOpenAI(`invalid params, context window exceeds limit (2013)`), 0, 0, false},
		{"Bedrock", 400, inOpenAI(`Input is too long for requested model.`), 0, 0, false},
		{"Llama at Bedrock", 400, inOpenAI(`Too many input tokens. Max input tokens: 8192, request input token count: 9279`), 8192, 9279, false},
		{"Groq behind a gateway", 400, inOpenAI(`Please reduce the length of the messages or completion.`), 0, 0, false},
		{"OpenAI behind a gateway", 400, inOpenAI(`upstream: {\"code\": \"context_length_exceeded\"}`), 0, 0, false},
		{"a number that cannot be true", 400, inOpenAI(`maximum context length is 99999999999999999999 tokens`), 0, 0, false},
		{"Groq's minute", 413, `{"error":{"message":"Request too large for model ` + "`m` in organization `o` service tier `s`" + ` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size.","type":"tokens","code":"rate_limit_exceeded"}}`, 12000, 14137, false},
		{"OpenAI's minute", 429, inOpenAI(`Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 342389.`), 30000, 342389, false},
		{"a rate", 429, inOpenAI(`Limit 1000, requested 2000; the maximum context length is 5 tokens`), 0, 0, true},
		{"another mistake", 400, inOpenAI(`context is not a field`), 0, 0, true},
	} {
		h := newHost(t, failing(tt.status, "", tt.body))
		_, err := h.client(t, local, &Options{Retries: -1}).Complete(t.Context(), hello())
		got, ok := errors.AsType[*Error](err)
		check.That(t, ok && (got.Code == CodeContextLength) != tt.other && got.Window == tt.window && got.Prompt == tt.prompt && got.Retryable() == (tt.status == 429 && tt.other),
			"%s: got %+v, want a window of %d and a request of %d tokens", tt.host, got, tt.window, tt.prompt)
		isOfAccount := strings.HasSuffix(err.Error(), "; it is the account's limit for a minute, and not the model's window")
		check.That(t, isOfAccount == strings.HasSuffix(tt.host, "minute"), "%s: got %v", tt.host, err)
	}
}
