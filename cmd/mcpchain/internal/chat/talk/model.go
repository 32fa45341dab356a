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
	"github.com/mcpchain/mcpchain/sampling"
)

// chosenModel is the model of a conversation, which the person may change. As a handler for sampling, it lends the
// model in use to servers if the person allows it. It refuses for a model of the API messages, which cannot be lent.
type chosenModel struct {
	flags     *models.Flags
	screen    screen.Screen
	person    *person.Person
	makeAgent func(context.Context) error // with the model in use
	demo      *tryout.Model               // nil: another one was opened

	mu      sync.Mutex          // guards the fields below
	current models.Model        // the model in use
	lent    mcp.SamplingHandler // answers servers by the model in use; nil: they cannot use it
}

// name returns the name of the model in use.
func (m *chosenModel) name() string { return m.endpoint().Name }

// endpoint returns the model in use.
func (m *chosenModel) endpoint() models.Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// url returns the URL of the endpoint without secrets, "" for the demo model.
func (m *chosenModel) url() string {
	if e := m.endpoint(); m.demo == nil || e.BaseURL != m.demo.BaseURL {
		return urlOf(e)
	}
	return ""
}

// urlOf returns the URL of a model without secrets.
func urlOf(m models.Model) string {
	return models.PublicURL(cmp.Or(m.BaseURL, "https://api.anthropic.com")) // the default of the API messages, which alone needs no URL
}

// open begins to use the model of the flags, and tells the person which it is. If it has no name, open starts the demo
// model, which close stops.
func (m *chosenModel) open(ctx context.Context) (err error) {
	e := m.flags.Model
	if e.Name != "" {
		e.Discover(ctx)
		m.screen.Note(screen.Faint, "model: %s at %s", e.Name, urlOf(e))
		return m.use(e)
	}
	if m.flags.Hint != "" {
		m.screen.Note(screen.Warn, "%s: the demo model is used", m.flags.Hint)
	}
	if m.demo, err = tryout.StartModel(); err != nil {
		return err
	}
	m.screen.Note(screen.Faint, "model: this is a demo model that follows fixed rules; -base-url and -model name a real one")
	return m.use(models.Model{BaseURL: m.demo.BaseURL, Name: tryout.ModelName})
}

// close stops the demo model.
func (m *chosenModel) close() {
	if m.demo != nil {
		_ = m.demo.Close()
	}
}

// use changes the model in use, also for servers. After an error the model stays the same.
func (m *chosenModel) use(e models.Model) error {
	var lent mcp.SamplingHandler
	if e.API != models.Messages {
		sampler, err := e.Sampler(sampling.Options{
			Review: &sampling.Review{Request: m.person.Lend, Reply: m.person.Release},
			Prices: m.flags.Prices,
		})
		if err != nil {
			return err
		}
		lent = person.Lender{Sampler: sampler}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current, m.lent = e, lent
	return nil
}

// CreateMessage implements [mcp.SamplingHandler].
func (m *chosenModel) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	m.mu.Lock()
	lent := m.lent
	m.mu.Unlock()
	if lent == nil {
		return nil, errors.New("servers cannot borrow the model in use")
	}
	return lent.CreateMessage(ctx, params)
}

// SamplingCapability declares that servers may offer tools to the model.
func (m *chosenModel) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true}
}

// urlHint returns what is probably wrong with the base URL after a response with status 404, "" for
// other errors and for the demo model.
func (m *chosenModel) urlHint(err error) string {
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

// models returns the sorted names of the endpoint's models. The error says why it does not list them. The API messages is
// not asked, and has none: its key is not for an OpenAI-compatible endpoint.
func (m *chosenModel) models(ctx context.Context) (names []string, err error) {
	at := m.endpoint()
	if at.API == models.Messages {
		return nil, nil
	}
	ids, err := chat.Models(ctx, at.Config())
	for _, id := range ids {
		if hosttext.Line(id, 200) == id {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// choose is the command /model.
func (m *chosenModel) choose(ctx context.Context, name string) error {
	if name == "" {
		m.list(ctx)
		return nil
	}
	if strings.ContainsAny(name, " \t") || hosttext.Line(name, 200) != name {
		return fmt.Errorf("invalid model name %q", hosttext.Line(name, 200))
	}
	next, err := m.find(ctx, name)
	if err != nil {
		return err
	}
	next.Discover(ctx)
	before := m.endpoint()
	if err := m.switchTo(ctx, next); err != nil {
		return errors.Join(err, m.switchTo(ctx, before))
	}
	at := ""
	if next.BaseURL != before.BaseURL {
		at = " at " + m.url()
	}
	m.screen.Note(screen.Faint, "model: %s%s, from the next question on", next.Name, at)
	return nil
}

// switchTo changes the model, and makes the agent for it.
func (m *chosenModel) switchTo(ctx context.Context, e models.Model) error {
	if err := m.use(e); err != nil {
		return err
	}
	return m.makeAgent(ctx)
}

// find finds a model by its name in the file of models, or else at the endpoint.
func (m *chosenModel) find(ctx context.Context, name string) (models.Model, error) {
	if m.flags.File != nil {
		if e, found, err := m.flags.File.Find(name, os.Getenv); found || err != nil {
			return e, err
		}
	}
	// An endpoint that lists no models may still have the model.
	if names, _ := m.models(ctx); len(names) > 0 && !slices.Contains(names, name) {
		return models.Model{}, fmt.Errorf("the endpoint has no model %q; /model lists its models", name)
	}
	next := m.endpoint()
	next.Name, next.Window = name, 0
	return next, nil
}

// list lists the models of the file and of the endpoint.
func (m *chosenModel) list(ctx context.Context) {
	m.screen.List(screen.Plain, "%s at %s", m.name(), cmp.Or(m.url(), "this program"))
	if m.flags.File != nil {
		for _, name := range m.flags.File.Names() {
			e, found, err := m.flags.File.Find(name, os.Getenv)
			if err != nil {
				m.screen.List(screen.Faint, "  %s cannot be used: %s", name, hosttext.Line(err.Error(), 200))
			} else if found {
				m.screen.List(screen.Tool, "  %s (%s at %s)", name, e.Name, urlOf(e))
			}
		}
	}
	names, err := m.models(ctx)
	for i, other := range names {
		if i == maxModels {
			m.screen.List(screen.Faint, "  … and %d more", len(names)-maxModels)
			break
		}
		if other != m.name() {
			m.screen.List(screen.Tool, "  %s", other)
		}
	}
	if len(names) == 0 {
		why := ""
		if err != nil {
			why = " (" + hosttext.Line(err.Error(), 200) + ")"
		}
		m.screen.List(screen.Faint, "the models of the endpoint are not known%s; /model NAME uses any of them", why)
	}
}

// complete completes the argument of /model.
func (m *chosenModel) complete(ctx context.Context, _ string) (found screen.Completion) {
	if m.flags.File != nil {
		for _, name := range m.flags.File.Names() {
			found.Items = addItem(found.Items, name, "in the file of models", false)
		}
	}
	names, _ := m.models(ctx)
	for _, name := range names {
		found.Items = addItem(found.Items, name, "", false)
	}
	return found
}
