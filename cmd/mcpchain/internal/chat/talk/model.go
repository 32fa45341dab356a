package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/chat"
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
	if e := m.endpoint(); m.demo == "" || e.BaseURL != m.demo {
		return urlOf(e)
	}
	return ""
}

// urlOf returns the URL of a model without secrets.
func urlOf(m models.Model) string {
	return models.PublicURL(cmp.Or(m.BaseURL, "https://api.anthropic.com")) // the default of the API messages, which alone needs no URL
}

// OpenModel returns the model of an endpoint, and tells the person which it is. If e has no name,
// it starts the demo model, which Close stops. hint says why the demo model is used in spite of
// other settings, "" if there are none.
func OpenModel(ctx context.Context, e models.Model, hint string, s screen.Screen) (*Model, error) {
	if e.Name != "" {
		e.Discover(ctx)
		s.Note(screen.Faint, "model: %s at %s", e.Name, urlOf(e))
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

// maxModels bounds the names of an endpoint's models that are shown.
const maxModels = 200

// models returns the sorted names of the endpoint's models, nil if it does not list them. The API messages is not asked: its
// key is not for an OpenAI-compatible endpoint.
func (m *Model) models(ctx context.Context) (names []string) {
	at := m.endpoint()
	if at.API == models.Messages {
		return nil
	}
	for _, id := range chat.Models(ctx, at.Config()) {
		if hosttext.Line(id, 200) == id {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// modelChoice lets the person choose the model.
type modelChoice struct {
	screen    screen.Screen
	model     *Model
	file      *models.File                // nil: only the models of the endpoint
	makeAgent func(context.Context) error // with the model in use
}

// choose is the command /model.
func (c *modelChoice) choose(ctx context.Context, name string) error {
	if name == "" {
		c.list(ctx)
		return nil
	}
	if strings.ContainsAny(name, " \t") || hosttext.Line(name, 200) != name {
		return fmt.Errorf("invalid model name %q", hosttext.Line(name, 200))
	}
	next, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	next.Discover(ctx)
	before := c.model.endpoint()
	if err := c.use(ctx, next); err != nil {
		return errors.Join(err, c.use(ctx, before))
	}
	at := ""
	if next.BaseURL != before.BaseURL {
		at = " at " + c.model.url()
	}
	c.screen.Note(screen.Faint, "model: %s%s, from the next question on", next.Name, at)
	return nil
}

// use changes the model, and makes the agent for it.
func (c *modelChoice) use(ctx context.Context, m models.Model) error {
	if err := c.model.use(m); err != nil {
		return err
	}
	return c.makeAgent(ctx)
}

// find finds a model by its name in the file of models, or else at the endpoint.
func (c *modelChoice) find(ctx context.Context, name string) (models.Model, error) {
	if c.file != nil {
		if m, found, err := c.file.Find(name, os.Getenv); found || err != nil {
			return m, err
		}
	}
	// An endpoint that lists no models may still have the model.
	if names := c.model.models(ctx); len(names) > 0 && !slices.Contains(names, name) {
		return models.Model{}, fmt.Errorf("the endpoint has no model %q; /model lists its models", name)
	}
	next := c.model.endpoint()
	next.Name, next.Window = name, 0
	return next, nil
}

// list lists the models of the file and of the endpoint.
func (c *modelChoice) list(ctx context.Context) {
	c.screen.List(screen.Plain, "%s at %s", c.model.Name(), cmp.Or(c.model.url(), "this program"))
	if c.file != nil {
		for _, name := range c.file.Names() {
			m, found, err := c.file.Find(name, os.Getenv)
			if err != nil {
				c.screen.List(screen.Faint, "  %s cannot be used: %s", name, hosttext.Line(err.Error(), 200))
			} else if found {
				c.screen.List(screen.Tool, "  %s (%s at %s)", name, m.Name, urlOf(m))
			}
		}
	}
	names := c.model.models(ctx)
	for i, other := range names {
		if i == maxModels {
			c.screen.List(screen.Faint, "  … and %d more", len(names)-maxModels)
			break
		}
		if other != c.model.Name() {
			c.screen.List(screen.Tool, "  %s", other)
		}
	}
	if len(names) == 0 {
		c.screen.List(screen.Faint, "the models of the endpoint are not known; /model NAME uses any of them")
	}
}

// complete completes the argument of /model.
func (c *modelChoice) complete(ctx context.Context, _ string) (found screen.Completion) {
	if c.file != nil {
		for _, name := range c.file.Names() {
			found.Items = addItem(found.Items, name, "in the file of models", false)
		}
	}
	for _, name := range c.model.models(ctx) {
		found.Items = addItem(found.Items, name, "", false)
	}
	return found
}
