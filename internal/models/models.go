// Package models reads the settings of models from flags, the environment and a file of models, for all programs.
package models

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// Model names a model, its endpoint and its settings. All but the name may be empty.
type Model struct {
	Name    string `json:"model"`
	BaseURL string `json:"baseUrl"`
	Key     string `json:"apiKey"` // in a file it may name environment variables, as ${NAME}

	API       string                     `json:"api"`       // chat, responses or messages; empty: by host and model
	Host      string                     `json:"host"`      // kind of host, such as vllm; empty: by the URL
	Effort    string                     `json:"effort"`    // reasoning effort
	MaxTokens int                        `json:"maxTokens"` // tokens of a reply; 0: the model's own limit
	Window    int64                      `json:"window"`    // context window in tokens; 0: unknown
	Extra     map[string]json.RawMessage `json:"extra"`     // fields that are added to each request
	Price     *price.Price               `json:"price"`     // nil: unknown

	Retries int `json:"-"` // retries after temporary failures; 0: the default of the model
}

// Messages is the name of Anthropic's API.
const Messages = "messages"

// OpenAI is the default endpoint.
const OpenAI = "https://api.openai.com/v1"

// efforts lists the efforts of reasoning that hosts know, the least first.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// valueError is a wrong value of a setting, which is named as a flag or as a member of a file.
type valueError struct{ flag, member, problem string }

func (e *valueError) Error() string { return "-" + e.flag + " " + e.problem }

// inFile returns the text for a setting of a file.
func (e *valueError) inFile() string { return e.member + " " + e.problem }

// complete returns an error for the first invalid setting. Otherwise it cuts the slash from the end of the URL.
func (m *Model) complete() error {
	for _, choice := range []struct {
		flag, member, value string
		known               []string
	}{
		{"model-api", "api", m.API, []string{"chat", "responses", Messages}},
		{"host", "host", m.Host, chat.Hosts()},
		{"effort", "effort", m.Effort, efforts},
	} {
		if choice.value != "" && !slices.Contains(choice.known, choice.value) {
			last := len(choice.known) - 1
			return &valueError{choice.flag, choice.member, fmt.Sprintf("%q: want %s or %s", hosttext.Line(choice.value, 40), strings.Join(choice.known[:last], ", "), choice.known[last])}
		}
	}
	switch {
	case m.Window < 0:
		return &valueError{"window", "window", "is below 0"}
	case m.MaxTokens < 0:
		return &valueError{"max-tokens", "maxTokens", "is below 0"}
	case m.API == Messages && (m.Host != "" || len(m.Extra) > 0):
		return errors.New("host and extra are for OpenAI-compatible endpoints, not for the API messages")
	}
	m.BaseURL = strings.TrimRight(m.BaseURL, "/")
	return nil
}

// Config returns the endpoint for packages openaimodel and sampling.
func (m *Model) Config() openai.ClientConfig {
	config := openai.DefaultConfig(m.Key)
	config.BaseURL = cmp.Or(m.BaseURL, OpenAI)
	return config
}

// Discover asks the endpoint for the kind of host and the window, if they are not set.
func (m *Model) Discover(ctx context.Context) {
	if m.API == Messages || m.BaseURL == OpenAI || m.Host != "" && m.Window != 0 {
		return
	}
	host, window := openaimodel.Discover(ctx, m.Config(), m.Name)
	m.Host, m.Window = cmp.Or(m.Host, host), cmp.Or(m.Window, window)
}

// Open returns the model. retrying is called before the wait for another attempt; it may be nil.
func (m *Model) Open(retrying func(error, time.Duration)) (agent.Model, error) {
	if m.API == Messages {
		return anthropicmodel.New(m.Key, m.Name, &anthropicmodel.Options{
			BaseURL:   m.BaseURL,
			Effort:    m.Effort,
			MaxTokens: m.MaxTokens,
			Retries:   m.Retries,
			Retrying:  retrying,
		})
	}
	return openaimodel.New(m.Config(), m.Name, &openaimodel.Options{
		API:       m.API,
		Host:      m.Host,
		Effort:    m.Effort,
		MaxTokens: m.MaxTokens,
		Extra:     m.Extra,
		Window:    m.Window,
		Retries:   m.Retries,
		Retrying:  retrying,
	})
}

// Sampler returns a sampler that lends the model to servers. It adds to the options the settings of
// the model, and that a request comes from the server of a call. Package sampling does not support
// the API messages.
func (m *Model) Sampler(o sampling.Options) (*sampling.Sampler, error) {
	if m.API == Messages {
		return nil, errors.New("servers cannot borrow a model of the API messages")
	}
	o.API, o.Host, o.Effort, o.Extra = m.API, m.Host, m.Effort, m.Extra
	o.Source = func(ctx context.Context) (server, call string) {
		from, _ := adapter.SourceFrom(ctx)
		return from.Server, from.Call.ID
	}
	return sampling.New(m.Config(), m.Name, &o)
}

// File is a file of models, by the person's names for them.
type File struct {
	Default string           `json:"default"` // "": none
	Models  map[string]Model `json:"models"`

	path string
}

const maxFile = 1 << 20 // bytes

// Read reads a file of models. A missing file has no models.
func Read(path string) (*File, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{path: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read models: %w", err)
	}
	f := &File{path: path}
	if err := decode(data, f); err != nil {
		return nil, fmt.Errorf("read models: %s: %w", path, err)
	}
	for _, name := range f.Names() {
		model := f.Models[name]
		if model.BaseURL == "" && model.API != Messages || model.Name == "" {
			return nil, fmt.Errorf("read models: %s: %s: want a baseUrl and a model", path, hosttext.Line(name, 80))
		}
		if err := model.complete(); err != nil {
			if wrong, ok := errors.AsType[*valueError](err); ok {
				err = errors.New(wrong.inFile())
			}
			return nil, fmt.Errorf("read models: %s: %s: %w", path, hosttext.Line(name, 80), err)
		}
		f.Models[name] = model
	}
	if _, ok := f.Models[f.Default]; f.Default != "" && !ok {
		return nil, fmt.Errorf("read models: %s: default: %s is not one of the models: %s", path, hosttext.Line(f.Default, 80), f.names())
	}
	return f, nil
}

// decode reads the one object of a file. It refuses unknown members.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text shows a type of Go
		return fmt.Errorf("%s: want another kind of value than a %s", cmp.Or(wrong.Field, "the file"), wrong.Value)
	}
	if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("there is more text after the object, at byte %d", d.InputOffset())
	}
	return nil
}

// read reads a file of bounded size that is not a pipe or a device.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, err
}

// quoted lists the names, for the end of an error.
func (f *File) quoted() string {
	names := f.Names()
	for i, name := range names {
		names[i] = strconv.Quote(hosttext.Line(name, 80))
	}
	return hosttext.Line(strings.Join(names, ", "), 400)
}

// missing returns the error for a name that is not in the file.
func (f *File) missing(name string) error {
	return fmt.Errorf("%s has no model %q%s; it has %s", hosttext.Line(f.path, 400), hosttext.Line(name, 80), spelling.Hint(name, f.Names()), f.quoted())
}

func (f *File) names() string { return hosttext.Line(strings.Join(f.Names(), ", "), 400) }

// Names returns the person's names for the models.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Models)) }

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Find returns a model by its name in the file, or the default for "". getenv looks up the variables in its key.
func (f *File) Find(name string, getenv func(string) string) (model Model, found bool, err error) {
	if name == "" {
		name = f.Default
	}
	model, found = f.Models[name]
	model.Key = variable.ReplaceAllStringFunc(model.Key, func(text string) string {
		key := variable.FindStringSubmatch(text)[1]
		value := getenv(key)
		if value == "" && err == nil {
			err = fmt.Errorf("the key of the model %s: environment variable %s is not set", hosttext.Line(name, 80), key)
		}
		return value
	})
	return model, found, err
}
