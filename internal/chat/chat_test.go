package chat

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

const testKey = "sk-test-0123456789abcdef"

// host is a server that records its requests.
type host struct{ *fakehost.Prepared }

func newHost(t testing.TB, h http.HandlerFunc) *host { return &host{fakehost.Prepare(t, h)} }

// client makes a client of the host under a base URL of any name.
func (s *host) client(t testing.TB, baseURL string, opts *Options) *Client {
	t.Helper()
	return newClient(t, baseURL, s.Client(), opts)
}

func newClient(t testing.TB, baseURL string, doer openai.HTTPDoer, opts *Options) *Client {
	t.Helper()
	cfg := openai.DefaultConfig(testKey)
	cfg.BaseURL, cfg.HTTPClient = baseURL, doer
	return check.Value(New(cfg, opts))(t)
}

var (
	answering = fakehost.Answering
	streaming = fakehost.Streaming
	equalJSON = fakehost.EqualJSON
)

func failing(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if key, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// refusing is a host that refuses requests with some texts, each with a message.
func refusing(t testing.TB, otherwise http.HandlerFunc, messages map[string]string) (h *host) {
	h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
		for text, message := range messages {
			if strings.Contains(h.Last(), text) {
				failing(400, "", `{"error":{"message":"`+message+`"}}`)(w, r)
				return
			}
		}
		otherwise(w, r)
	})
	return h
}

const plainAnswer = `{"id":"1","model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

func hello() *Request { return &Request{Model: "m", Messages: []Message{Text(User, "Hi")}} }

// sameReply compares replies, with random ids of ours as ID, without sizes and endpoints.
func sameReply(t *testing.T, got, want *Reply) {
	t.Helper()
	got.Size, got.Endpoint = 0, ""
	for i := range got.ToolCalls {
		if strings.HasPrefix(got.ToolCalls[i].ID, "call_") {
			got.ToolCalls[i].ID = "ID"
		}
	}
	check.Same(t, "reply", got, want)
}

// inTurn is a host with an answer for each request. The last one is repeated.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) { handlers[min(int(n.Add(1)), len(handlers))-1](w, r) }
}

func TestMediaTypes(t *testing.T) {
	for _, tt := range []struct{ typ, image, audio string }{
		{"image/png", "image/png", ""}, {"image/PNG; x=,y", "image/png", ""}, {"image/jpg", "image/jpeg", ""},
		{"image/webp", "image/webp", ""}, {"image/svg+xml", "", ""}, {"audio/wav", "", "wav"},
		{"Audio/X-Wav", "", "wav"}, {"audio/mpeg", "", "mp3"}, {"audio/ogg", "", ""}, {"", "", ""},
	} {
		image, isImage := ImageType(tt.typ)
		audio, isAudio := AudioFormat(tt.typ)
		check.That(t, image == tt.image && isImage == (tt.image != "") && audio == tt.audio && isAudio == (tt.audio != ""),
			"%q: got image %q, %t and audio %q, %t, want %q and %q", tt.typ, image, isImage, audio, isAudio, tt.image, tt.audio)
	}
}

// An endpoint may repeat the key in other forms, and the error would bring it into logs.
func TestDisguisedKeys(t *testing.T) {
	const key = "h2~Pass+word/long ä?"
	req, _ := http.NewRequest(http.MethodPost, "https://h.test", nil)
	req.Header.Set("Authorization", "Bearer "+key)
	percent := func(format string) (text string) {
		for i := range len(key) {
			text += fmt.Sprintf(format, key[i])
		}
		return text
	}
	forms := map[string]string{
		"plain": key, "upper case": strings.ToUpper(key), "query": "h2~Pass%2Bword%2Flong+%C3%A4%3F", "path": "h2~Pass+word%2flong%20%c3%a4%3f",
		"all in percent form": percent("%%%02X"), "in lower case": percent("%%%02x"), "escaped": strings.NewReplacer("P", `\u0050`, "+", `\u002B`, "ä", `\u00e4`).Replace(key),
	}
	for before := range 4 {
		forms[fmt.Sprint("base64 ", before)] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("~", before) + key + strings.Repeat("?", before)))
		forms[fmt.Sprint("base64 of URLs ", before)] = base64.RawURLEncoding.EncodeToString([]byte("Bearer " + strings.Repeat("?", before) + key))
	}
	for name, form := range forms {
		got := newRedactor(req).clean("the key <" + form + "> is wrong")
		inner := got[strings.Index(got, "<")+1 : strings.Index(got, ">")]
		left := strings.ReplaceAll(inner, "[redacted]", "")
		check.That(t, inner != left && len(left) <= 14, "%s, %s: got %s", name, form, got) // what stood before and behind
	}
	const odd = `ab/cd"ef\gh😀`
	req.Header.Set("Authorization", "Bearer "+odd)
	for _, form := range []string{odd, `ab\/cd\"ef\\gh😀`, `ab\/cd\u0022ef\u005cgh\ud83d\uDE00`} {
		check.Equal(t, form, newRedactor(req).clean("the key "+form), "the key [redacted]")
	}
	const harmless = "the model hunter of aGVsbG8gd29ybGQ= is not here: 100%25"
	check.Equal(t, "", newRedactor(req).clean(harmless), harmless)
}

// Gateways have headers of their own for keys.
func TestSecretHeaders(t *testing.T) {
	req, _ := http.NewRequest(http.MethodPost, "https://h.test", nil)
	for _, name := range []string{"cf-aig-authorization", "Helicone-Auth", "x-litellm-api-key", "CF-Access-Client-Secret", "X-Goog-Api-Key", "OpenAI-Organization", "Cookie"} {
		req.Header = http.Header{}
		req.Header.Set(name, "Bearer top-secret")
		check.Equal(t, name, newRedactor(req).clean("top-secret is wrong"), "[redacted] is wrong")
	}
	req.Header = http.Header{"Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
	check.Equal(t, "others", newRedactor(req).clean("2023-06-01, application/json"), "2023-06-01, application/json")
}

// A secret may begin another one.
func TestLongestSecretFirst(t *testing.T) {
	req, _ := http.NewRequest(http.MethodPost, "https://h.test/?a=secret&b=secret-and-more&c=secret-and", nil)
	for range 10 { // the parameters of a URL have no order
		check.Equal(t, "", newRedactor(req).clean("got secret-and-more, secret-and, secret"), "got [redacted], [redacted], [redacted]")
	}
}
