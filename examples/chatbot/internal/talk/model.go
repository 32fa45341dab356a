package talk

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/person"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/screen"
	"github.com/mcpchain/mcpchain/examples/internal/demomodel"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// Endpoint is where a model is asked.
type Endpoint struct {
	BaseURL string
	Name    string // of the model, for the endpoint
	Key     string
	Window  int64 // tokens that the model takes; 0: unknown
}

// Catalog has endpoints by the person's names for their models.
type Catalog interface {
	Names() []string
	Endpoint(name string) (e Endpoint, found bool, err error)
}

// Model is the model of a conversation, and its endpoint.
type Model struct {
	close func() error
	lend  func(config openai.ClientConfig, name string) (mcp.SamplingHandler, error)
	demo  string // the URL of the demo model

	mu   sync.Mutex // guards the fields below
	at   Endpoint
	lent mcp.SamplingHandler // to servers
}

// Name is the name of the model in use.
func (m *Model) Name() string { return m.endpoint().Name }

// endpoint is where the model in use is asked.
func (m *Model) endpoint() Endpoint {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// url is the endpoint's URL to show, "" for the demo model.
func (m *Model) url() string {
	if e := m.endpoint(); e.BaseURL != m.demo {
		return PublicURL(e.BaseURL)
	}
	return ""
}

func (e Endpoint) config() openai.ClientConfig {
	config := openai.DefaultConfig(e.Key)
	config.BaseURL = e.BaseURL
	return config
}

// OpenModel takes the model of an endpoint, or starts the demo model if it has no name.
// Hint is why the demo model is used in spite of some settings.
func OpenModel(e Endpoint, hint string, s screen.Screen) (*Model, error) {
	if e.Name != "" {
		s.Note(screen.Faint, "model: %s at %s", e.Name, PublicURL(e.BaseURL))
		return &Model{at: e, close: func() error { return nil }}, nil
	}
	if hint != "" {
		s.Note(screen.Warn, "%s: the demo model is used", hint)
	}
	demo, err := demomodel.Start()
	if err != nil {
		return nil, err
	}
	s.Note(screen.Faint, "model: this is a demo model that follows fixed rules; -base-url and -model name a real one")
	return &Model{at: Endpoint{BaseURL: demo.BaseURL, Name: demomodel.Name}, demo: demo.BaseURL, close: demo.Close}, nil
}

// Close ends the demo model.
func (m *Model) Close() error { return m.close() }

// Sampler lends the model to servers, as the person allows.
func (m *Model) Sampler(p *person.Person, prices *sampling.Prices) (mcp.SamplingHandler, error) {
	m.lend = func(config openai.ClientConfig, name string) (mcp.SamplingHandler, error) {
		lent, err := sampling.New(config, name, &sampling.Options{
			Review: sampling.ReviewFuncs{Request: p.Lend, Reply: p.Release}, Prices: prices,
			Source: func(ctx context.Context) sampling.Source {
				from, _ := adapter.SourceFrom(ctx)
				return sampling.Source{Server: from.Server, Call: from.Call.ID}
			},
		})
		if err != nil {
			return nil, err
		}
		return person.Lender{Sampler: lent}, nil
	}
	return lentModel{m}, m.use(m.endpoint())
}

// use takes another model, also for servers.
func (m *Model) use(e Endpoint) error {
	lent, err := m.lend(e.config(), e.Name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.lent = e, lent
	return nil
}

// lentModel is the model in use, for servers.
type lentModel struct{ model *Model }

func (l lentModel) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	l.model.mu.Lock()
	lent := l.model.lent
	l.model.mu.Unlock()
	return lent.CreateMessage(ctx, params)
}

// SamplingCapability declares what package sampling can do.
func (l lentModel) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true}
}

// hint explains a likely mistake in the base URL after a 404.
func (m *Model) hint(err error) string {
	failure, ok := errors.AsType[*openaimodel.Error](err)
	if !ok || failure.Status != http.StatusNotFound || m.url() == "" {
		return ""
	}
	hint := "; the address is " + m.url() + "/chat/completions"
	if !strings.HasSuffix(m.url(), "/v1") {
		hint += ": does -base-url lack /v1?"
	}
	return hint
}

// PublicURL is a URL, valid or not, without its secret parts.
func PublicURL(text string) string {
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if found {
		rest = scheme + "://" + rest
	}
	return safetext.Line(rest, 200)
}
