package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Bounds of the list of an endpoint's models.
const (
	modelsWait   = 10 * time.Second
	maxModels    = 200     // names that are shown
	maxModelList = 4 << 20 // bytes
)

// models returns the sorted names of the endpoint's models.
func (m *Model) models(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, modelsWait)
	defer cancel()
	at := m.endpoint()
	config := at.Config()
	config.HTTPClient = boundedClient{config.HTTPClient}
	list, err := openai.NewClientWithConfig(config).ListModels(ctx)
	if err != nil {
		return nil, err
	}
	for _, model := range list.Models {
		if id := model.ID; id != "" && hosttext.Line(id, 200) == id {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// boundedClient bounds the bodies of responses.
type boundedClient struct{ openai.HTTPDoer }

// Do implements [openai.HTTPDoer].
func (b boundedClient) Do(r *http.Request) (*http.Response, error) {
	response, err := b.HTTPDoer.Do(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxModelList), response.Body}
	}
	return response, err
}

// chooseModel is the command /model.
func (s *Session) chooseModel(ctx context.Context, name string) error {
	if name == "" {
		s.listModels(ctx)
		return nil
	}
	if strings.ContainsAny(name, " \t") || hosttext.Line(name, 200) != name {
		return fmt.Errorf("invalid model name %q", hosttext.Line(name, 200))
	}
	next, err := s.findModel(ctx, name)
	if err != nil {
		return err
	}
	next.Discover(ctx)
	before := s.Model.endpoint()
	if err := s.useModel(ctx, next); err != nil {
		return errors.Join(err, s.useModel(ctx, before))
	}
	at := ""
	if next.BaseURL != before.BaseURL {
		at = " at " + s.Model.url()
	}
	s.Screen.Note(screen.Faint, "model: %s%s, from the next question on", next.Name, at)
	return nil
}

// useModel makes the agent for another model.
func (s *Session) useModel(ctx context.Context, m models.Model) error {
	if err := s.Model.use(m); err != nil {
		return err
	}
	return s.makeAgent(ctx)
}

// findModel finds a model by its name in the file of models, or else at the endpoint.
func (s *Session) findModel(ctx context.Context, name string) (models.Model, error) {
	if s.Models != nil {
		if m, found, err := s.Models.Find(name, os.Getenv); found || err != nil {
			return m, err
		}
	}
	// An endpoint that lists no models may still have the model.
	names, err := s.Model.models(ctx)
	if err == nil && len(names) > 0 && !slices.Contains(names, name) {
		return models.Model{}, fmt.Errorf("the endpoint has no model %q; /model lists its models", name)
	}
	next := s.Model.endpoint()
	next.Name, next.Window = name, 0
	return next, nil
}

// listModels lists the models of the file and of the endpoint.
func (s *Session) listModels(ctx context.Context) {
	s.Screen.List(screen.Plain, "%s at %s", s.Model.Name(), cmp.Or(s.Model.url(), "this program"))
	if s.Models != nil {
		for _, name := range s.Models.Names() {
			m, found, err := s.Models.Find(name, os.Getenv)
			if err != nil {
				s.Screen.List(screen.Faint, "  %s cannot be used: %s", name, hosttext.Line(err.Error(), 200))
			} else if found {
				s.Screen.List(screen.Tool, "  %s (%s at %s)", name, m.Name, models.PublicURL(m.BaseURL))
			}
		}
	}
	names, err := s.Model.models(ctx)
	for i, other := range names {
		if i == maxModels {
			s.Screen.List(screen.Faint, "  … and %d more", len(names)-maxModels)
			break
		}
		if other != s.Model.Name() {
			s.Screen.List(screen.Tool, "  %s", other)
		}
	}
	if err != nil {
		s.Screen.List(screen.Faint, "the endpoint lists no models: %s", hosttext.Line(err.Error(), 200))
	}
}

// completeModel completes the argument of /model.
func (s *Session) completeModel(ctx context.Context, _ string) (c screen.Completion) {
	if s.Models != nil {
		for _, name := range s.Models.Names() {
			c.Items = addItem(c.Items, name, "in the file of models", false)
		}
	}
	names, err := s.Model.models(ctx)
	if err != nil {
		return c
	}
	for _, name := range names {
		c.Items = addItem(c.Items, name, "", false)
	}
	return c
}
