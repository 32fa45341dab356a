package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
)

type heard struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (h *heard) add(raw []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(raw)
	h.text.WriteByte('\n')
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func quotedJSON(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(raw)
}

// talkative returns a server that uses the text for all names, descriptions and results.
func talkative(text string, got *heard) mcpclient.Transport {
	word := quotedJSON(text)
	answers := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{}},"instructions":` + word + `}`,
		"tools/list": `{"tools":[{"name":"ask","description":` + word + `,"inputSchema":{"type":"object"}},
			{"name":"lend","inputSchema":{"type":"object"}},{"name":"page","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"echo","title":` + word + `,"description":` + word + `,"annotations":{"destructiveHint":true},
			"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":` + word + `,"default":` + word + `}}}}]}`,
		"tools/call":               `{"content":[{"type":"text","text":` + word + `}]}`,
		"resources/list":           `{"resources":[{"uri":"x://y","name":` + word + `,"title":` + word + `},{"uri":"x://z","name":` + word + `}]}`,
		"resources/templates/list": `{"resourceTemplates":[]}`,
		"resources/read":           `{"contents":[{"uri":"x://y","text":` + quotedJSON("of the resource "+strings.ReplaceAll(text, "\x00", "")) + `}]}`,
		"prompts/list":             `{"prompts":[{"name":"p","description":` + word + `,"arguments":[{"name":"a","description":` + word + `,"required":true},{"name":"b","description":` + word + `}]}]}`,
	}
	questions := map[string]string{ // by the tools that ask them
		"ask":  `"method":"elicitation/create","params":` + strangeForm(word),
		"lend": `"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":` + word + `}}],"systemPrompt":` + word + `,"maxTokens":50}`,
		"page": `"method":"elicitation/create","params":{"mode":"url","message":` + word + `,"elicitationId":"1","url":"https://box.example/%1b%5b2J%e2%80%ae"}`,
	}
	transport, server := mcpclient.Pipe()
	go func() {
		for {
			raw, err := server.Recv()
			if err != nil {
				return
			}
			got.add(raw)
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					Name           string
					InputResponses json.RawMessage
					Meta           struct{ ProgressToken json.RawMessage } `json:"_meta"`
				}
			}
			if json.Unmarshal(raw, &m) != nil || m.ID == nil {
				continue
			}
			if m.Method == "prompts/get" || m.Params.Name == "fail" {
				_ = server.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":%s}}`, m.ID, word))
				continue
			}
			if token := m.Params.Meta.ProgressToken; m.Method == "tools/call" && token != nil {
				_ = server.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":%s}}`, token, word))
			}
			answer := answers[m.Method]
			if question := questions[m.Params.Name]; question != "" && m.Params.InputResponses == nil {
				answer = `{"resultType":"input_required","inputRequests":{"1":{` + question + `}}}`
			}
			_ = server.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, strings.ReplaceAll(cmp.Or(answer, "{}"), "\n", "")))
		}
	}()
	return transport
}

// strangeForm returns a form that uses a word for all of its texts.
func strangeForm(word string) string {
	after := func(begin string) string { return `"` + begin + word[1:] }
	return `{"message":` + word + `,"requestedSchema":{"type":"object","properties":{
		"one":{"type":"string","title":` + after("First ") + `,"description":` + word + `,"default":` + word + `},
		"two":{"type":"string","title":` + after("Second ") + `,"description":` + word + `,"oneOf":[{"const":"a","title":` + word + `},{"const":` + word + `,"title":"B"}]}}}}`
}

// wanted matches the tool that a question asks for.
var wanted = regexp.MustCompile(`use:([a-z]+):`)

// babbling returns a model that calls a tool with a text, and then answers with it. The question
// names the tool, otherwise it is first.
func babbling(first, text string, got *heard) http.Handler {
	word := quotedJSON(text)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		got.add(raw)
		message := `{"role":"assistant","content":` + word + `,"reasoning_content":` + word + `}`
		var request struct {
			Tools    []json.RawMessage
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		_ = json.Unmarshal(raw, &request) // a list of models has none
		if n := len(request.Messages); n > 0 && len(request.Tools) > 0 && request.Messages[n-1].Role == "user" {
			tool := first
			if name := wanted.FindSubmatch(request.Messages[n-1].Content); name != nil {
				tool = string(name[1])
			}
			message = `{"role":"assistant","content":` + word + `,"tool_calls":[{"id":"1","type":"function","function":{"name":"` + tool + `","arguments":` + quotedJSON(`{"text":`+word+`}`) + `}}]}`
		}
		fmt.Fprintf(w, `{"model":%s,"choices":[{"message":%s,"finish_reason":"stop"}],"data":[{"id":%s},{"id":"fine"}]}`, word, message, word)
	})
}

func textsOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		all := ""
		for _, one := range v {
			all += textsOf(one) + "\n"
		}
		return all
	case map[string]any:
		return textsOf(slices.Collect(maps.Values(v)))
	}
	return ""
}

// control returns the index of a control character other than a line break or a tab, or -1.
func control(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' })
}

// strangeSession opens a conversation with a model and the server box.
func strangeSession(ctx context.Context, s screen.Screen, interrupts *talk.Interrupts, endpoint string, server mcpclient.Transport) (*talk.Session, error) {
	return talk.Open(ctx, talk.Config{
		Screen: s, Interrupts: interrupts, Person: person.New(s, false, nil), Store: record.NewMemory(),
		Models:  &models.Flags{Model: models.Model{BaseURL: endpoint, Name: "m"}},
		Servers: &talk.Servers{Good: []adapter.Server{{Name: "box", Transport: server}}},
	})
}

// No escape sequence of the person, a server or a model reaches the screen, and none that is typed
// reaches the model. Texts of one peer reach another unchanged.
func FuzzEscapes(f *testing.F) {
	for _, sequence := range []string{"\x1b[2J", "\x1b]0;title\a", "\u009b31m", "\x1b]52;c;eA==\x1b\\", "\x1bP1$q\x1b\\", "\x1b[Anna\x1b[D", "\r\x1b[K", "\x00\x7f\b"} {
		f.Add("hello "+sequence+" you", sequence, "I say "+sequence)
	}
	f.Fuzz(func(t *testing.T, typed, ofServer, ofModel string) {
		typed = strings.NewReplacer("\n", " ", "\r", " ", "/", " ", "@", " ").Replace(typed) // one line, no command, no file
		if strings.TrimSpace(typed) == "" || len(typed)+len(ofServer)+len(ofModel) > 10_000 {
			t.Skip()
		}
		toServer, toModel := &heard{}, &heard{}
		endpoint := httptest.NewServer(babbling("echo", ofModel, toModel))
		defer endpoint.Close()
		s := typist.New(t, typed, "?", "y", "use:lend: "+typed, "y", "s", "y", "use:page: "+typed, "y", "y", "d", "use:fail: "+typed, "y", "@box:x://y use:echo:", "y",
			"/tools", "/tool echo", "/resources", "/read x://y", "/prompts", "/prompt p a=1", "/servers", "/skills", "/model", "/show", "/reasoning", "/usage", "/conversations", "/permissions")
		ctx, interrupts := talk.WatchSignals()
		defer interrupts.Stop()
		session, err := strangeSession(ctx, s, interrupts, endpoint.URL, talkative(ofServer, toServer))
		if err != nil {
			return // the server's words are too strange
		}
		check.Must(t, session.Talk(ctx))
		session.Close()
		for _, want := range []string{
			"The model wants to run echo on the server box:", "The server box wants to put this to the model", "The server box would get this reply", "asks you to open a page of box.example",
			"Waiting for the page of box", "fail: ", "attached: box:x://y", "nothing is decided|decisions end with the program",
		} {
			check.That(t, regexp.MustCompile(want).MatchString(s.Text()), "want %s in\n%s", want, s.Text())
		}
		if shown := strings.ReplaceAll(s.Text(), "\r\x1b[K", ""); control(shown) >= 0 {
			t.Errorf("the screen got %q", shown[control(shown):])
		}
		for who, raw := range map[string]string{"the server": toServer.String(), "the model": toModel.String()} {
			if i := strings.IndexFunc(raw, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
				t.Errorf("%s got %.100q", who, raw[i:])
			}
		}
		for line := range strings.Lines(toModel.String()) {
			var request struct {
				Tools    []json.RawMessage
				Messages []struct {
					Role    string
					Content any
				}
			}
			if strings.TrimSpace(line) == "" {
				continue // a request for the models
			}
			check.Must(t, json.Unmarshal([]byte(line), &request))
			for _, m := range request.Messages { // without tools they are a server's
				check.That(t, m.Role != "user" || len(request.Tools) == 0 || control(textsOf(m.Content)) < 0, "the model got %q of what was typed", m.Content)
			}
		}
	})
}
