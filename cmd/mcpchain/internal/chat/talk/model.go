package talk

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// Model is the model of a conversation, and its endpoint.
type Model struct {
	close func() error
	lend  func(models.Model) (mcp.SamplingHandler, error)
	demo  string // the URL of the demo model

	mu   sync.Mutex // guards the fields below
	at   models.Model
	lent mcp.SamplingHandler // to servers
}

// Name is the name of the model in use.
func (m *Model) Name() string { return m.endpoint().Name }

// endpoint is where the model in use is asked.
func (m *Model) endpoint() models.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// url is the endpoint's URL to show, "" for the demo model.
func (m *Model) url() string {
	if e := m.endpoint(); e.BaseURL != m.demo {
		return models.PublicURL(e.BaseURL)
	}
	return ""
}

// OpenModel takes the model of an endpoint, or starts the demo model if it has no name.
// Hint is why the demo model is used in spite of some settings.
func OpenModel(ctx context.Context, e models.Model, hint string, s screen.Screen) (*Model, error) {
	if e.Name != "" {
		e.Discover(ctx)
		s.Note(screen.Faint, "model: %s at %s", e.Name, models.PublicURL(e.BaseURL))
		return &Model{at: e, close: func() error { return nil }}, nil
	}
	if hint != "" {
		s.Note(screen.Warn, "%s: the demo model is used", hint)
	}
	demo, err := tryout.StartModel()
	if err != nil {
		return nil, err
	}
	s.Note(screen.Faint, "model: this is a demo model that follows fixed rules; -base-url and -model name a real one")
	return &Model{at: models.Model{BaseURL: demo.BaseURL, Name: tryout.ModelName}, demo: demo.BaseURL, close: demo.Close}, nil
}

// Close ends the demo model.
func (m *Model) Close() error { return m.close() }

// Sampler lends the model to servers, as the person allows.
func (m *Model) Sampler(p *person.Person, prices *price.Table) (mcp.SamplingHandler, error) {
	m.lend = func(model models.Model) (mcp.SamplingHandler, error) {
		if model.API == models.Messages {
			return nil, nil
		}
		lent, err := model.Sampler(sampling.Options{
			Review: &sampling.Review{Request: p.Lend, Reply: p.Release}, Prices: prices,
			Source: func(ctx context.Context) (server, call string) {
				from, _ := adapter.SourceFrom(ctx)
				return from.Server, from.Call.ID
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
func (m *Model) use(e models.Model) error {
	lent, err := m.lend(e)
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
	if lent == nil {
		return nil, errors.New("servers cannot borrow the model in use")
	}
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
