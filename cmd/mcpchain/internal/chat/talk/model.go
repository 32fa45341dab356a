package talk

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// Model is the model of a conversation. The person may choose another one.
type Model struct {
	close   func() error
	sampler func(models.Model) (mcp.SamplingHandler, error) // lends a model to servers; set by Sampler
	demo    string                                          // URL of the demo model, "" if another one was opened

	mu      sync.Mutex          // guards the fields below
	current models.Model        // the model in use
	lent    mcp.SamplingHandler // answers servers by the model in use; nil: they cannot use it
}

// Name returns the name of the model in use.
func (m *Model) Name() string { return m.endpoint().Name }

// endpoint returns the model in use.
func (m *Model) endpoint() models.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// url returns the URL of the endpoint without secrets, "" for the demo model.
func (m *Model) url() string {
	if e := m.endpoint(); e.BaseURL != m.demo {
		return models.PublicURL(e.BaseURL)
	}
	return ""
}

// OpenModel returns the model of an endpoint, and tells the person which it is. If e has no name,
// it starts the demo model, which Close stops. hint says why the demo model is used in spite of
// other settings, "" if there are none.
func OpenModel(ctx context.Context, e models.Model, hint string, s screen.Screen) (*Model, error) {
	if e.Name != "" {
		e.Discover(ctx)
		s.Note(screen.Faint, "model: %s at %s", e.Name, models.PublicURL(e.BaseURL))
		return &Model{current: e, close: func() error { return nil }}, nil
	}
	if hint != "" {
		s.Note(screen.Warn, "%s: the demo model is used", hint)
	}
	demo, err := tryout.StartModel()
	if err != nil {
		return nil, err
	}
	s.Note(screen.Faint, "model: this is a demo model that follows fixed rules; -base-url and -model name a real one")
	return &Model{
		current: models.Model{BaseURL: demo.BaseURL, Name: tryout.ModelName},
		demo:    demo.BaseURL,
		close:   demo.Close,
	}, nil
}

// Close stops the demo model.
func (m *Model) Close() error { return m.close() }

// Sampler returns a handler that lends the model in use to servers if the person allows it. It must be called once,
// before another model is used. The handler refuses while a model of the API messages is in use, which cannot be lent.
func (m *Model) Sampler(p *person.Person, prices *price.Table) (mcp.SamplingHandler, error) {
	m.sampler = func(model models.Model) (mcp.SamplingHandler, error) {
		if model.API == models.Messages {
			return nil, nil
		}
		lent, err := model.Sampler(sampling.Options{
			Review: &sampling.Review{Request: p.Lend, Reply: p.Release},
			Prices: prices,
		})
		if err != nil {
			return nil, err
		}
		return person.Lender{Sampler: lent}, nil
	}
	return lentModel{m}, m.use(m.endpoint())
}

// use changes the model in use, also for servers. After an error the model stays the same.
func (m *Model) use(e models.Model) error {
	lent, err := m.sampler(e)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current, m.lent = e, lent
	return nil
}

// lentModel answers servers by the model in use.
type lentModel struct{ model *Model }

// CreateMessage implements [mcp.SamplingHandler].
func (l lentModel) CreateMessage(
	ctx context.Context, params *mcp.CreateMessageParams,
) (*mcp.CreateMessageResult, error) {
	l.model.mu.Lock()
	lent := l.model.lent
	l.model.mu.Unlock()
	if lent == nil {
		return nil, errors.New("servers cannot borrow the model in use")
	}
	return lent.CreateMessage(ctx, params)
}

// SamplingCapability declares that servers may offer tools to the model.
func (l lentModel) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true}
}

// urlHint returns what is probably wrong with the base URL after a response with status 404, "" for
// other errors and for the demo model.
func (m *Model) urlHint(err error) string {
	if statusOf(err) != http.StatusNotFound || m.url() == "" {
		return ""
	}
	hint := "; the base URL is " + m.url()
	if !strings.HasSuffix(m.url(), "/v1") && m.endpoint().API != models.Messages { // which adds it
		hint += ": does it lack /v1?"
	}
	return hint
}
