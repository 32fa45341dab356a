// Package anthropicmodel asks Claude models through Anthropic's Messages API.
//
//	claude, err := anthropicmodel.New(os.Getenv("ANTHROPIC_API_KEY"), "claude-opus-4-8", nil)
//	…
//	a, err := agent.New(claude, nil)
//
// Thoughts, shown or not, are stored with a run and sent back unchanged. The tools, the
// instructions and the history are marked for the provider's cache. Only fields that the model
// accepts are sent: current models refuse a temperature and a token budget for thoughts.
//
// The guide is docs/agent.md of the repository.
package anthropicmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// defaultBaseURL is Anthropic's own API.
const defaultBaseURL = "https://api.anthropic.com"

// version is the revision of the API that this package speaks.
const version = "2023-06-01"

// Options configure a model. Nil and the zero value are valid.
type Options struct {
	// BaseURL is the URL of the API without "/v1/messages", with or without "/v1". Its query, if
	// any, is sent with each request. Default: https://api.anthropic.com.
	BaseURL string

	// Header is added to each request, such as "Anthropic-Beta", or "Authorization" instead of the
	// key. Default: none.
	Header http.Header

	// Effort specifies how much the model thinks if a request sets no effort: "none", "minimal",
	// "low", "medium", "high", "xhigh" or "max". A model that does not have it gets the nearest
	// one. Default: the model's own.
	Effort string

	// MaxTokens bounds a reply, thoughts included, if a request sets no bound. Default: 32,000, or
	// 64,000 with the efforts xhigh and max, but never more than the model allows. A request of an
	// agent with a limit of tokens or cost sets the bound for Effort of these options.
	MaxTokens int

	// Cache specifies how long the provider caches prompts: "5m", "1h", which costs more to write,
	// or "none". Default "5m".
	Cache string

	// Retries bounds the retries after temporary failures: an unreachable provider, and the statuses 408,
	// 429 and 5xx, without 501 and 505. A reply that has begun is not repeated. Default 2; negative: none.
	Retries int

	// Retrying is called before the wait for another attempt, with the failure. It may be called
	// concurrently, and must return soon. Default nil.
	Retrying func(err error, wait time.Duration)

	// Timeout bounds one attempt, its whole reply included. Default, also if negative: 10 min. A reply
	// that is silent for 2 min fails earlier; the API's pings end a silence.
	Timeout time.Duration

	// HTTPClient sends the requests. Redirects to another origin are refused unless it has a
	// CheckRedirect function. Default: [http.DefaultClient].
	HTTPClient *http.Client
}

// Model is a [model.Model], and an [llms.Model] of langchaingo. It may be used concurrently, and serve many users.
type Model struct {
	name    string
	options Options
	url     string
	header  http.Header
	wire    *chat.Wire
}

var (
	_ model.Model = (*Model)(nil)
	_ llms.Model  = (*Model)(nil)
)

// New returns a model. It does no I/O. It returns an error if the name is empty, an option is invalid,
// or the key is empty and Options.Header has none.
func New(key, name string, opts *Options) (*Model, error) {
	m := &Model{name: name, header: http.Header{"Anthropic-Version": {version}}}
	if opts != nil {
		m.options = *opts
	}
	o := &m.options
	for field, values := range o.Header {
		m.header[http.CanonicalHeaderKey(field)] = slices.Clone(values)
	}
	switch {
	case name == "":
		return nil, errors.New("new model: name of the model is empty")
	case key == "" && m.header.Get("Authorization") == "" && m.header.Get("X-Api-Key") == "":
		return nil, errors.New("new model: the key is empty, and Header has none")
	case !slices.Contains([]string{"", "5m", "1h", "none"}, o.Cache):
		return nil, fmt.Errorf("new model: Cache is %q; use 5m, 1h or none", o.Cache)
	case !isKnownEffort(o.Effort):
		return nil, fmt.Errorf("new model: Effort is %q; use none, minimal, low, medium, high, xhigh or max", o.Effort)
	case o.MaxTokens < 0:
		return nil, fmt.Errorf("new model: MaxTokens is %d", o.MaxTokens)
	}
	var err error
	if m.url, err = address(o.BaseURL); err != nil {
		return nil, fmt.Errorf("new model: %w", err)
	}
	if key != "" {
		m.header.Set("X-Api-Key", key)
	}
	client := o.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	m.wire = chat.NewWire("messages", client, &chat.Options{
		Retries: o.Retries, Retrying: hostfail.Retrying(o.Retrying, failure), Timeout: o.Timeout,
	})
	return m, nil
}

// FromEnv returns the model ANTHROPIC_MODEL with the key ANTHROPIC_API_KEY, at ANTHROPIC_BASE_URL
// if that is set. It returns an error if the model or the key is not set.
func FromEnv() (*Model, error) {
	name := os.Getenv("ANTHROPIC_MODEL")
	switch {
	case name == "":
		return nil, errors.New("ANTHROPIC_MODEL is not set: it names the model")
	case os.Getenv("ANTHROPIC_API_KEY") == "":
		return nil, errors.New("ANTHROPIC_API_KEY is not set: it is the key for the model")
	}
	return New(os.Getenv("ANTHROPIC_API_KEY"), name, &Options{BaseURL: os.Getenv("ANTHROPIC_BASE_URL")})
}

// address returns the URL of requests.
func address(baseURL string) (string, error) {
	u, err := url.Parse(cmp.Or(baseURL, defaultBaseURL))
	base, query := chat.SplitQuery(cmp.Or(baseURL, defaultBaseURL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("BaseURL is not an http or https URL")
	}
	if query != "" {
		query = "?" + query
	}
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/v1/messages" + query, nil
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	r := findRule(m.name)
	return model.Info{
		Provider:   "anthropic",
		Name:       m.name,
		Endpoint:   "messages",
		Profile:    profile.Anthropic,
		Window:     r.window,
		MaxTokens:  r.maxTokens(0, m.options.MaxTokens, m.options.Effort),
		Formats:    func(bool) bool { return r.enforcesFormat },
		Media:      isAccepted,
		ToolsFirst: true,
	}
}

// Generate implements [model.Model]. Requests to the provider are always streamed, even without
// [model.Request.Stream].
func (m *Model) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return hostfail.Replies(func(show func(model.Delta) error) (*model.Response, error) {
		if !r.Stream {
			show = nil
		}
		return thoughts.Ask(r, func(r *model.Request) (*model.Response, error) { return m.post(ctx, r, show) })
	}, failure)
}

// thoughts are known by their signatures.
var thoughts = hostfail.Thoughts{
	ID: func(p *run.Part) string {
		if !hasThought(p) {
			return ""
		}
		return string(p.Provider[signatureKey]) + string(p.Provider[redactedKey]) + string(p.Provider[blockKey])
	},
	Refuses: func(e *chat.Error) bool { return strings.Contains(e.Message, "signature") },
}

// post asks once, and decodes the reply.
func (m *Model) post(ctx context.Context, r *model.Request, show func(model.Delta) error) (*model.Response, error) {
	w, warning, err := m.encode(r)
	if err != nil {
		return nil, &model.Error{Kind: model.ErrorInvalid, Err: err}
	}
	body, err := jsonrpc.Marshal(w)
	if err != nil {
		return nil, &model.Error{Kind: model.ErrorInvalid, Err: err}
	}
	var a *answer
	err = m.wire.Post(ctx, m.url, m.header, body, func() chat.Answer {
		a = &answer{show: show}
		return a
	})
	if err != nil {
		return nil, err
	}
	return a.response(r, m.name, warning), nil
}

// GenerateContent implements [llms.Model]. langchaingo's types have no field for thoughts, so
// thoughts of earlier replies are not sent back. The response has one choice. Options without a
// counterpart in the API are ignored; more than one candidate is an error. A failure of the
// provider matches [*model.Error] and [*llms.Error] by errors.As.
func (m *Model) GenerateContent(
	ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption,
) (*llms.ContentResponse, error) {
	response, err := convert.Generate(ctx, messages, options, func(r *model.Request, o *llms.CallOptions) iter.Seq2[model.Delta, error] {
		asked := *m
		if o.Model != "" {
			asked.name = o.Model
		}
		return asked.Generate(ctx, r)
	})
	return response, hostfail.ForLangchaingo("anthropic", err)
}

// Call asks the model one question and returns the text of its answer.
//
// Deprecated: use [Model.GenerateContent].
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}
