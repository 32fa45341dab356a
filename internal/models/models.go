// Package models reads the settings of models from flags, the environment and a file of models, for all programs.
package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// Model names a model, its endpoint and its settings. [Model.Open] needs the name, and for the "messages" API the key.
type Model struct {
	Name    string `json:"model"`
	BaseURL string `json:"baseUrl"`
	Key     string `json:"apiKey"` // in a file it may name environment variables, as ${NAME}

	API       string                     `json:"api"`       // chat, responses or messages; empty: by provider and model
	Host      string                     `json:"host"`      // kind of provider, such as vllm; empty: by the URL
	Effort    string                     `json:"effort"`    // reasoning effort
	MaxTokens int                        `json:"maxTokens"` // tokens of a reply; 0: the model's own limit
	Window    int64                      `json:"window"`    // context window in tokens; 0: unknown
	Extra     map[string]json.RawMessage `json:"extra"`     // fields that are added to each request
	Price     *price.Price               `json:"price"`     // nil: unknown

	Retries int `json:"-"` // retries after temporary failures; 0: the default of the model; negative: none
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

// check returns an error for the first invalid setting.
func (m *Model) check() error {
	if err := cmp.Or(
		oneOf("model-api", "api", m.API, []string{"chat", "responses", Messages}),
		oneOf("host", "host", m.Host, chat.Hosts()),
		oneOf("effort", "effort", m.Effort, efforts),
	); err != nil {
		return err
	}
	switch {
	case m.Window < 0:
		return &valueError{"window", "window", "is below 0"}
	case m.MaxTokens < 0:
		return &valueError{"max-tokens", "maxTokens", "is below 0"}
	case m.API != Messages:
		return nil
	case m.Host != "":
		return compatibleOnly("host")
	case len(m.Extra) > 0:
		return compatibleOnly("extra")
	case m.Window > 0:
		return compatibleOnly("window")
	}
	return nil
}

// oneOf returns an error for a value that is neither empty nor known.
func oneOf(flag, member, value string, known []string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	last := len(known) - 1
	return &valueError{flag, member, fmt.Sprintf("%q: want %s or %s",
		hosttext.Line(value, 40), strings.Join(known[:last], ", "), known[last])}
}

// compatibleOnly returns the error for a setting that the "messages" API does not have.
func compatibleOnly(setting string) error {
	return &valueError{setting, setting, `is for OpenAI-compatible endpoints, not for the "messages" API`}
}

// Config returns the endpoint for packages openaimodel and sampling.
func (m *Model) Config() openai.ClientConfig {
	config := openai.DefaultConfig(m.Key)
	config.BaseURL = cmp.Or(m.BaseURL, OpenAI)
	return config
}

// Discover asks the endpoint for the kind of provider and the window, if they are not set. It waits for
// at most 5 s. What it does not learn stays unset.
func (m *Model) Discover(ctx context.Context) {
	if m.API == Messages || m.BaseURL == OpenAI || m.Host != "" && m.Window != 0 {
		return
	}
	host, window := openaimodel.Probe(ctx, m.Config(), m.Name)
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

// Sampler returns a sampler that lends the model to servers. The model's API, host, effort, extra
// fields and retries replace those of o, and Origin returns the server of the call that a request
// belongs to. Package sampling does not support the "messages" API.
func (m *Model) Sampler(o sampling.Options) (*sampling.Sampler, error) {
	if m.API == Messages {
		return nil, errors.New(`servers cannot borrow a model of the "messages" API`)
	}
	o.API, o.Host, o.Effort, o.Extra, o.Retries = m.API, m.Host, m.Effort, m.Extra, m.Retries
	o.Origin = adapter.OriginFrom
	return sampling.New(m.Config(), m.Name, &o)
}
