package chat

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Codes of an [Error]. Other codes are the host's own.
const (
	CodeRequest       = "request"        // the request is invalid for the host, and was not sent
	CodeUnreachable   = "unreachable"    // connecting or sending failed
	CodeTimeout       = "timeout"        // no answer within Options.Timeout
	CodeIdle          = "idle"           // a stream fell silent for Options.IdleTimeout
	CodeTruncated     = "truncated"      // the answer broke off
	CodeTooLarge      = "too_large"      // the answer is over 32 MiB
	CodeMalformed     = "malformed"      // the answer breaks the API's format
	CodeEmpty         = "empty"          // the answer has no choice or no output, or the host broke off before the model said anything
	CodeContentFilter = "content_filter" // the host withheld the answer
	CodeNoToolCall    = "no_tool_call"   // a call was required, and the model made none

	// CodeNoQuota is OpenAI's code for an account whose credit is used up. The same failure of other hosts has this code, too.
	CodeNoQuota = "insufficient_quota"

	CodeToolUse = "tool_use_failed" // Groq's code: it cannot read a call of its model
)

// Error is a failed completion. Its text holds no credentials and no query of a URL.
type Error struct {
	Host    string // host name of the API, with its port if it has one
	Status  int    // HTTP status, or the status in the body; 0 for no answer
	Code    string // one of the constants, or the host's own code; may be empty
	Message string // at most 1 KiB of the host, after the name of a refused tool

	// RetryAfter is the wait that the host asked for, at most 24 h; zero for none.
	RetryAfter time.Duration

	// Window and Prompt are the most tokens that a request may have and what this one has, with CodeContextLength; 0 if the
	// host does not report them. Window is the model's window, or what the account may send in a minute.
	Window, Prompt int64

	// Usage is the host's count for the failed answer, nil if unknown.
	Usage *Usage

	Begun   bool // the host had begun a stream
	Partial bool // a part of the answer had arrived in a stream

	api          string // the API's name in the text; default: chatCompletion
	cause        error
	responses    bool   // the request was for the Responses API
	suggestedURL string // a base URL with the right path, if the configured one has another
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.api, chatCompletion))
	if e.Host != "" {
		fmt.Fprintf(&b, " at %s", e.Host)
	}
	if e.Status != 0 && e.Status != http.StatusOK {
		fmt.Fprintf(&b, ": HTTP status %d", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, ": %s", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %v)", e.RetryAfter)
	}
	if hint := e.hint(); hint != "" {
		fmt.Fprintf(&b, "; %s", hint)
	}
	return b.String()
}

// Unwrap returns the cause, nil if the host reported the failure.
func (e *Error) Unwrap() error { return e.cause }

// unexpectedEndpoint is LM Studio's message for a path that it does not serve.
const unexpectedEndpoint = "Unexpected endpoint"

// hint returns advice for a person, "" for none.
func (e *Error) hint() string {
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return "check the API key and its permissions"
	case e.suggestedURL != "" && (e.Status == http.StatusNotFound || strings.Contains(e.Message, unexpectedEndpoint)):
		return "check the base URL, try " + e.suggestedURL
	case e.responses && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed):
		return "the host has no Responses API at this URL, or not for this model: set API to chat if it has only Chat Completions"
	case e.Status == http.StatusNotFound:
		return "check the base URL and the model's name"
	case errors.Is(e.cause, http.ErrSchemeMismatch):
		return "begin the base URL with http://"
	case e.Code == CodeUnreachable && !e.isRedirect():
		return "check the base URL and that the host is up"
	case overRate.MatchString(e.Message):
		return "it is the account's limit for a minute, and not the model's window"
	case strings.Contains(e.Message, "Responses API") || strings.Contains(e.Message, "/v1/responses"):
		return `set API to responses, or the effort to "none"`
	}
	return ""
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if strings.Contains(e.Message, "returned invalid tool call arguments") { // Ollama, as with [CodeToolUse]: agents may ask again
		return false
	}
	switch e.Code {
	case CodeNoQuota, CodeContentFilter, CodeContextLength:
		return false
	case CodeUnreachable:
		_, badCertificate := errors.AsType[*tls.CertificateVerificationError](e.cause)
		return !badCertificate && !e.isRedirect() && !errors.Is(e.cause, http.ErrSchemeMismatch)
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return e.Status >= 500 && e.Status < 600
}

// isRedirect reports whether the host redirects to where the request is not sent.
func (e *Error) isRedirect() bool {
	_, ok := errors.AsType[redirectError](e.cause)
	return ok
}

// needsMaxTokens reports whether the request needs max_tokens. Hosts have no code for that, only a text.
func (e *Error) needsMaxTokens() bool {
	text := strings.ToLower(e.Message)
	isMissing := strings.Contains(text, "required") || strings.Contains(text, "missing")
	return e.refusesInput() && strings.Contains(text, "max_tokens") && isMissing
}

// refusesInput reports whether the host refuses the fields of the request.
func (e *Error) refusesInput() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity
}

// isLoading reports whether the host is loading the model, as llama-server says.
func (e *Error) isLoading() bool {
	return e.Status == http.StatusServiceUnavailable && strings.Contains(strings.ToLower(e.Message), "loading model")
}

// explain returns the error of the exchange: from the caller's callback or context, a bound of time, or the host.
func (x *exchange) explain(err error) error {
	if own, ok := errors.AsType[*Stopped](err); ok {
		return own.Err
	}
	if ctxErr := x.callerCtx.Err(); ctxErr != nil {
		return fmt.Errorf("%s: %w", x.api, ctxErr)
	}
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errTimeout):
		return x.newError(CodeTimeout, fmt.Sprintf("no complete answer within %v", x.timeout))
	case errors.Is(cause, errIdle):
		return x.newError(CodeIdle, fmt.Sprintf("the stream was silent for %v", x.idleTimeout))
	}
	return err
}

// wrapError returns the error of an interrupted exchange, with its cause but without the URL in it.
func (x *exchange) wrapError(code string, cause error) *Error {
	cause = withoutURL(cause)
	e := x.newError(code, cause.Error())
	e.cause = cause
	return e
}

// requestError returns the error of a request that was not sent.
func requestError(err error) error {
	err = withoutURL(err)
	return &Error{Code: CodeRequest, Message: excerpt.Cut(err.Error()), cause: err}
}

// newError returns the error of an unusable answer.
func (x *exchange) newError(code, message string) *Error {
	return &Error{Host: x.request.URL.Host, Code: code, Message: newRedactor(x.request).clean(message)}
}

func (x *exchange) tooLarge() *Error {
	return x.newError(CodeTooLarge, fmt.Sprintf("the answer is over %d bytes", x.maxReply))
}

// hostError returns the error of a failure that the host reports. The status in the body
// counts if the response's own status is not a failure.
func (x *exchange) hostError(status int, body []byte) *Error {
	b := readErrorBody(body)
	if b.status != 0 && status < 400 {
		status = b.status
	}
	b.message = cmp.Or(b.message, strings.ToLower(http.StatusText(status)))
	redact := newRedactor(x.request)
	e := &Error{Host: x.request.URL.Host, Status: status, Code: redact.clean(b.code), Message: redact.clean(b.message)}
	u := x.request.URL
	if base, ok := strings.CutSuffix(u.Path, "/chat/completions/chat/completions"); ok {
		e.suggestedURL = u.Scheme + "://" + u.Host + base
	} else if u.Path == "/chat/completions" {
		e.suggestedURL = u.Scheme + "://" + u.Host + "/v1"
	}
	e.responses = strings.HasSuffix(x.request.URL.Path, "/responses")
	e.RetryAfter, _ = backoff.RetryAfter(x.header, time.Now())
	if e.Code == "billing_hard_limit_reached" || e.Code == "exceeded_current_quota_error" || // OpenAI, Moonshot
		strings.Contains(e.Message, "credit balance is too low") { // Anthropic
		e.Code = CodeNoQuota
	}
	e.detectOverflow()
	return e
}

// bodyError returns the error of a failure that the host reports in a response with status OK.
func (x *exchange) bodyError(body []byte) *Error { return x.hostError(http.StatusOK, body) }

// CodeContextLength is OpenAI's code for a request that is longer than the model's window. The same failure of other
// hosts has this code, too, and so has a request that exceeds what the account may send in a minute: both must be shorter.
const CodeContextLength = "context_length_exceeded"

// windows match the messages of hosts about a request that is too long. The group is [Error.Window].
var windows = []*regexp.Regexp{
	regexp.MustCompile(`(?i)maximum (?:context|prompt) length (?:is|of) (?:only )?([\d,]+)`), // OpenAI, vLLM, DeepSeek, OpenRouter, xAI
	regexp.MustCompile(`(?i)available context size \(([\d,]+)`),                              // llama.cpp, Ollama
	regexp.MustCompile(`(?i)maximum context length \(([\d,]+)\)`),                            // vLLM
	regexp.MustCompile(`(?i)maximum model length of ([\d,]+)`),                               // vLLM
	regexp.MustCompile(`(?i)context length (?:is|of) only ([\d,]+)`),                         // vLLM, LM Studio
	regexp.MustCompile(`(?i)([\d,]+) maximum context length`),                                // Mistral
	regexp.MustCompile(`(?i)prompt is too long: [\d,]+ tokens > ([\d,]+)`),                   // Anthropic
	regexp.MustCompile(`(?i)exceed context limit: [\d,]+ \+ [\d,]+ > ([\d,]+)`),              // Anthropic, with max_tokens
	regexp.MustCompile(`(?i)too many input tokens\. max input tokens: ([\d,]+)`),             // Bedrock
	regexp.MustCompile(`(?i)maximum number of tokens allowed \(([\d,]+)\)`),                  // Gemini
	regexp.MustCompile(`(?i)input tokens exceed the configured limit of ([\d,]+)`),           // OpenAI
	regexp.MustCompile("(?i)`inputs` tokens \\+ `max_new_tokens` must be <= ([\\d,]+)"),      // Together
	regexp.MustCompile(`(?i)than the model's context length \(([\d,]+) tokens`),              // Together
	regexp.MustCompile(`(?i)exceeded model token limit: ([\d,]+)`),                           // Moonshot
	regexp.MustCompile(`(?i)prompt token count of [\d,]+ exceeds the limit of ([\d,]+)`),     // Copilot
	overRate,
	regexp.MustCompile(`(?i)(?:context window exceeds limit|input is too long for requested model)()`), // MiniMax, Bedrock
	regexp.MustCompile(`(?i)(?:context_length_exceeded|reduce the length of the messages)()`),          // OpenAI, Groq behind gateways
	regexp.MustCompile(`(?i)(?:exceeds?|over|than) the (?:model's )?context (?:length|window|size)()`), // others
}

// overRate matches the message of OpenAI and Groq about one request that exceeds the tokens of a minute.
var overRate = regexp.MustCompile(`(?i)request too large for .*\): limit ([\d,]+), requested `)

// prompts matches the length of the request in the same messages, in tokens.
var prompts = regexp.MustCompile(`(?i)(?:request \(|request contains |requested:? |messages resulted in |you requested (?:about )?|your request has |prompt \(length |` +
	`input length \(|input \(|prompt token count of |prompt contains |prompt is too long: |exceed context limit: |input token count: |input token count \(?|passed )([\d,]+)`)

// detectOverflow sets CodeContextLength and both lengths if the request was longer than the model's window.
func (e *Error) detectOverflow() {
	known := e.Code == CodeContextLength || e.Code == "exceed_context_size_error"
	isRate := e.Status == http.StatusTooManyRequests && !overRate.MatchString(e.Message)
	if !known && (e.Status < 400 || e.Status == 401 || e.Status == 403 || e.Status == 404 || isRate) {
		return
	}
	for _, pattern := range windows {
		if m := pattern.FindStringSubmatch(e.Message); m != nil {
			known, e.Window = true, tokens(m[1])
			break
		}
	}
	if !known {
		return
	}
	e.Code = CodeContextLength
	if m := prompts.FindStringSubmatch(e.Message); m != nil {
		e.Prompt = tokens(m[1])
	}
}

// tokens returns a count, 0 if it cannot be true.
func tokens(s string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil || n > maxCount {
		return 0
	}
	return n
}
