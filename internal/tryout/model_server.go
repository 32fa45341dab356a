package tryout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"
)

// ModelName is the name of the model.
const ModelName = "demo"

// maxBody bounds a request in bytes.
const maxBody = 16 << 20

// Model is a model that listens on a port.
type Model struct {
	// BaseURL is the model's URL, in the form for OPENAI_BASE_URL.
	BaseURL string

	http http.Server
	wg   sync.WaitGroup
}

// StartModel listens on a free port of the loopback interface.
func StartModel() (*Model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the demo model: %w", err)
	}
	s := &Model{BaseURL: "http://" + listener.Addr().String() + "/v1"}
	s.http.Handler = ModelHandler()
	s.http.ReadHeaderTimeout = 10 * time.Second
	s.http.MaxHeaderBytes = 64 << 10
	s.http.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // standard error may be the screen of a chat
	s.wg.Go(func() { s.http.Serve(listener) })
	return s, nil
}

// Close ends all requests and stops listening.
func (s *Model) Close() error {
	err := s.http.Close()
	s.wg.Wait()
	return err
}

// ModelHandler serves /v1/chat/completions, with and without streaming, and /v1/models.
func ModelHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", serveCompletion)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list",
			"data":   []any{map[string]any{"id": ModelName, "object": "model", "owned_by": "mcpchain"}},
		})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, fmt.Sprintf("no such endpoint: %s %.100q", r.Method, r.URL.Path))
	})
	return mux
}

func serveCompletion(w http.ResponseWriter, r *http.Request) {
	var req openai.ChatCompletionRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&req)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", maxBody))
		return
	}
	switch {
	case err != nil:
		writeError(w, http.StatusBadRequest, "the request is not JSON of the expected shape: "+err.Error())
		return
	case len(req.Messages) == 0:
		writeError(w, http.StatusBadRequest, "messages is empty")
		return
	}
	a := answer(&req)
	if req.Stream {
		stream(r.Context(), w, &req, a)
		return
	}
	finish := openai.FinishReasonStop
	if len(a.calls) > 0 {
		finish = openai.FinishReasonToolCalls
	}
	writeJSON(w, http.StatusOK, openai.ChatCompletionResponse{
		ID: "chatcmpl-demo", Object: "chat.completion", Created: time.Now().Unix(), Model: ModelName,
		Choices: []openai.ChatCompletionChoice{{
			Message:      openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: a.text, ToolCalls: a.calls},
			FinishReason: finish,
		}},
		Usage: usage(&req, a),
	})
}

// usage returns the usage of a reply, four bytes a token.
func usage(req *openai.ChatCompletionRequest, a reply) openai.Usage {
	prompt, completion := 0, len(a.text)
	for _, m := range req.Messages {
		prompt += len(messageText(m))
	}
	for _, c := range a.calls {
		completion += len(c.Function.Name) + len(c.Function.Arguments)
	}
	u := openai.Usage{PromptTokens: prompt/4 + 1, CompletionTokens: completion/4 + 1}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the client is gone.
	_ = json.NewEncoder(w).Encode(v)
}

// writeError answers in the shape of OpenAI's errors.
func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{
		"error": map[string]any{"message": message, "type": "invalid_request_error"},
	})
}

// stream sends the reply as server-sent events: text word by word, then each
// tool call with its arguments in two pieces.
func stream(ctx context.Context, w http.ResponseWriter, req *openai.ChatCompletionRequest, a reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(choices []openai.ChatCompletionStreamChoice, u *openai.Usage) {
		if ctx.Err() != nil {
			return
		}
		data, err := json.Marshal(openai.ChatCompletionStreamResponse{
			ID: "chatcmpl-demo", Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: ModelName,
			Choices: choices, Usage: u,
		})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", data)
			_ = control.Flush()
		}
	}
	delta := func(d openai.ChatCompletionStreamChoiceDelta) {
		send([]openai.ChatCompletionStreamChoice{{Delta: d}}, nil)
	}

	delta(openai.ChatCompletionStreamChoiceDelta{Role: openai.ChatMessageRoleAssistant})
	for word := range strings.SplitAfterSeq(a.text, " ") {
		if word != "" {
			delta(openai.ChatCompletionStreamChoiceDelta{Content: word})
		}
	}
	finish := openai.FinishReasonStop
	for i, c := range a.calls {
		finish = openai.FinishReasonToolCalls
		half := len(c.Function.Arguments) / 2
		for half > 0 && !utf8.RuneStart(c.Function.Arguments[half]) {
			half--
		}
		head, tail := c, openai.ToolCall{}
		head.Index, tail.Index = &i, &i
		head.Function.Arguments, tail.Function.Arguments = c.Function.Arguments[:half], c.Function.Arguments[half:]
		delta(openai.ChatCompletionStreamChoiceDelta{ToolCalls: []openai.ToolCall{head}})
		delta(openai.ChatCompletionStreamChoiceDelta{ToolCalls: []openai.ToolCall{tail}})
	}
	send([]openai.ChatCompletionStreamChoice{{FinishReason: finish}}, nil)
	if o := req.StreamOptions; o != nil && o.IncludeUsage {
		u := usage(req, a)
		send([]openai.ChatCompletionStreamChoice{}, &u)
	}
	if ctx.Err() == nil {
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}
