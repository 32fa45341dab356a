package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/examples/safetext"
)

// Models are the models of a file, by the person's names for them.
type Models struct {
	Default string           `json:"default"` // "": none
	Models  map[string]Model `json:"models"`
}

// Model is one model and its endpoint.
type Model struct {
	BaseURL string `json:"baseUrl"`
	Model   string `json:"model"`
	APIKey  string `json:"apiKey"`  // may name environment variables, as ${NAME}
	Context int64  `json:"context"` // tokens that the model takes; 0: unknown
}

// ReadModels reads a file of models. A missing one has none.
func ReadModels(path string) (*Models, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Models{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read models: %w", err)
	}
	m := &Models{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("read models: %s: %w", path, err)
	}
	for name, model := range m.Models {
		switch {
		case model.BaseURL == "" || model.Model == "":
			return nil, fmt.Errorf("read models: %s: %s: want a baseUrl and a model", path, safetext.Line(name, 80))
		case model.Context < 0:
			return nil, fmt.Errorf("read models: %s: %s: the context is below 0", path, safetext.Line(name, 80))
		}
	}
	if _, ok := m.Models[m.Default]; m.Default != "" && !ok {
		return nil, fmt.Errorf("read models: %s: default: there is no model %s; there are %s", path, safetext.Line(m.Default, 80), m.names())
	}
	return m, nil
}

func (m *Models) names() string { return safetext.Line(strings.Join(m.Names(), ", "), 400) }

// Names are the person's names for the models.
func (m *Models) Names() []string { return slices.Sorted(maps.Keys(m.Models)) }

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Find returns the model with a name of the file, or the default for "". Getenv gives the
// variables of its key.
func (m *Models) Find(name string, getenv func(string) string) (model Model, found bool, err error) {
	if name == "" {
		name = m.Default
	}
	model, found = m.Models[name]
	model.APIKey = variable.ReplaceAllStringFunc(model.APIKey, func(text string) string {
		key := variable.FindStringSubmatch(text)[1]
		value := getenv(key)
		if value == "" && err == nil {
			err = fmt.Errorf("the key of the model %s: environment variable %s is not set", safetext.Line(name, 80), key)
		}
		return value
	})
	return model, found, err
}
