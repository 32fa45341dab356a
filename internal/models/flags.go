package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/price"
)

// Flags are the settings of a model, from the command line and the environment.
type Flags struct {
	Model  Model        // the demo model if it has no name
	Prices *price.Table // nil: unknown
	Hint   string       // why the settings name no model
	File   *File        // nil: not read

	path   string // a file of models; "": in the configuration folder
	prices string // path; "": none
	getenv func(string) string
	set    *flag.FlagSet
	given  map[string]bool // flags on the command line
}

// Declare declares the flags, for [Flags.Complete] after they are parsed. getenv looks up variables of the environment.
// The default of -base-url comes from there, and may have a password.
func Declare(set *flag.FlagSet, getenv func(string) string) *Flags {
	f := &Flags{getenv: getenv, set: set}
	m := &f.Model
	set.StringVar(&m.BaseURL, "base-url", getenv("OPENAI_BASE_URL"), "`URL` of an OpenAI-compatible endpoint, such as http://localhost:11434/v1")
	set.StringVar(&m.Name, "model", getenv("OPENAI_MODEL"), "`name` of the model, or of an entry in -models; default: a demo model that follows fixed rules")
	set.StringVar(&f.path, "models", "", "`file` that defines names for -model; default mcpchain/models.json in your configuration folder")
	set.StringVar(&m.API, "model-api", "", "`name` of the API: chat, responses, or messages (Claude); default: chosen by endpoint and model")
	set.StringVar(&m.Host, "host", "", "`kind` of provider, such as vllm or llamacpp; default: derived from the URL")
	set.StringVar(&m.Effort, "effort", "", "reasoning `effort`: none, minimal, low, medium, high, xhigh or max; default: the model's")
	set.IntVar(&m.MaxTokens, "max-tokens", 0, "maximum number of `tokens` of a reply; default: the model's")
	set.Int64Var(&m.Window, "window", 0, "size of the model's context window in `tokens`; default: as the endpoint says, or 128,000")
	set.Func("extra", "JSON `object` with additional fields for each request, for features of a provider", func(text string) error {
		m.Extra = nil
		if err := json.Unmarshal([]byte(text), &m.Extra); err != nil || m.Extra == nil {
			return errors.New(`want a JSON object, such as {"top_k": 20}`)
		}
		return nil
	})
	set.StringVar(&f.prices, "prices", "", "`file` with the prices of models, as JSON: {\"date\": \"2026-11-22\", \"models\": [{\"model\": \"NAME*\", \"currency\": \"USD\", \"input\": millionths of the currency per million tokens, \"output\": …}]}")
	return f
}

// Complete finds the model after the flags are parsed. Without a name, from the command line or the environment, it is the
// default of the file, unless there is a base URL. It returns an error for a mistake on the command line or a [*SettingError];
// an incomplete environment means the demo model.
func (f *Flags) Complete() error {
	f.given = map[string]bool{}
	f.set.Visit(func(flag *flag.Flag) { f.given[flag.Name] = true })
	if err := cmp.Or(f.readPrices(), f.readFile()); err != nil {
		return &SettingError{err}
	}
	f.Model.Key = f.getenv("OPENAI_API_KEY")
	f.useClaude()
	filed, err := f.find()
	if err != nil {
		return &SettingError{err}
	}
	m := &f.Model
	if err := m.check(); err != nil {
		return err
	}
	if filed && m.BaseURL == "" && m.API != Messages { // the key must not go to OpenAI
		return fmt.Errorf("-model-api %q needs a baseUrl, and the model has none in %s", m.API, hosttext.Line(f.File.path, 400))
	}
	m.BaseURL = strings.TrimRight(m.BaseURL, "/")
	f.useKeyOfClaude(filed)
	if m.Name == "" {
		return f.explainDemo()
	}
	return f.completeEndpoint()
}

// SettingError is a mistake in the environment, in a file, or in a name of a file or of a model there. A list of the flags
// does not help with it.
type SettingError struct{ Err error }

func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *SettingError) Unwrap() error { return e.Err }

// readFile reads the file of -models, or else the one in the configuration folder, which may be missing.
func (f *Flags) readFile() error {
	path := f.path
	if path == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return nil
		}
		path = filepath.Join(folder, "mcpchain", "models.json")
	} else if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("-models: %w", err)
	}
	file, err := Read(path)
	if err != nil {
		return err
	}
	if f.path != "" && len(file.Models) == 0 {
		return fmt.Errorf("-models: there are no models in %s", hosttext.Line(path, 400))
	}
	f.File = file
	return nil
}

// useClaude selects the model of ANTHROPIC_MODEL, unless OPENAI_MODEL or the command line selects another one.
func (f *Flags) useClaude() {
	m, name := &f.Model, f.getenv("ANTHROPIC_MODEL")
	if name == "" || m.Name != "" || f.given["model"] || (f.given["base-url"] || f.given["model-api"]) && m.API != Messages {
		return
	}
	m.Name, m.API = name, Messages
	if !f.given["base-url"] {
		m.BaseURL = "" // OPENAI_BASE_URL is not Claude's
	}
}

// find sets the model that the file has under the name, with the settings of the command line. It returns false if there
// is none, or if the command line or the environment names an endpoint instead.
func (f *Flags) find() (bool, error) {
	asked := f.Model
	if f.File == nil || f.given["base-url"] || asked.Name == "" && asked.BaseURL != "" {
		return false, nil
	}
	found, ok, err := f.File.lookup(asked.Name, f.getenv)
	switch {
	case err != nil:
		return false, err
	case !ok && f.given["models"] && f.given["model"] && asked.API != Messages:
		return false, f.File.missing(asked.Name)
	case !ok:
		return false, nil
	case asked.BaseURL != "" && found.API != Messages && strings.TrimRight(asked.BaseURL, "/") != found.BaseURL:
		return false, fmt.Errorf("the model %s has an endpoint in %s, and OPENAI_BASE_URL names another one: unset that, or give -base-url",
			hosttext.Line(asked.Name, 80), hosttext.Line(f.File.path, 400))
	case found.BaseURL != "":
		if err := checkURL(found.BaseURL); err != nil {
			return false, fmt.Errorf("%s: %w", hosttext.Line(f.File.path, 400), err)
		}
	}
	f.Model = found
	f.override(&asked)
	if found.Price != nil && f.Prices == nil {
		f.Prices = filePrices(f.File)
	}
	return true, nil
}

// override replaces settings of the file by those of the command line, which parsing has put into asked.
func (f *Flags) override(asked *Model) {
	for name := range f.given {
		switch name {
		case "model-api":
			f.Model.API = asked.API
		case "host":
			f.Model.Host = asked.Host
		case "effort":
			f.Model.Effort = asked.Effort
		case "max-tokens":
			f.Model.MaxTokens = asked.MaxTokens
		case "window":
			f.Model.Window = asked.Window
		case "extra":
			f.Model.Extra = asked.Extra
		}
	}
}

// useKeyOfClaude sets the key of a model of the "messages" API, and the base URL that belongs to the key. A key of the
// environment goes to its own host, or to one of the command line.
func (f *Flags) useKeyOfClaude(filed bool) {
	m := &f.Model
	switch {
	case m.API != Messages:
	case filed:
		m.useEndpointOfClaude(f.getenv)
	case f.given["base-url"]:
		m.Key = f.getenv("ANTHROPIC_API_KEY")
	default:
		m.Key, m.BaseURL = "", "" // OpenAI's
		m.useEndpointOfClaude(f.getenv)
	}
}

// explainDemo says in the hint why the settings name no model. It returns an error for a mistake on the command line.
func (f *Flags) explainDemo() error {
	m := &f.Model
	switch {
	case f.given["base-url"]:
		return errors.New("-base-url needs the name of a model, in -model or OPENAI_MODEL")
	case m.BaseURL != "" && m.API != Messages:
		f.Hint = "OPENAI_BASE_URL is set, but neither -model nor OPENAI_MODEL"
	case f.given["models"]:
		f.Hint = "-models is given, but neither -model nor OPENAI_MODEL, and the file has no default"
	case m.Key != "" && m.API != Messages:
		f.Hint = "OPENAI_API_KEY is set, but neither -model nor OPENAI_MODEL"
	case f.getenv("ANTHROPIC_API_KEY") != "":
		f.Hint = "ANTHROPIC_API_KEY is set, but neither -model nor ANTHROPIC_MODEL"
	}
	return nil
}

// completeEndpoint sets the default of the base URL. It returns an error if the model has no endpoint, no key that it
// needs, or a wrong URL.
func (f *Flags) completeEndpoint() error {
	m := &f.Model
	switch {
	case m.Key == "" && m.API == Messages:
		return &SettingError{errors.New(`a model of the "messages" API needs a key, in ANTHROPIC_API_KEY, ` +
			"or if a file names its baseUrl, in apiKey there")}
	case m.BaseURL == "" && m.Key == "" && f.File != nil && len(f.File.Models) > 0:
		return &SettingError{f.File.missing(m.Name)}
	case m.BaseURL == "" && m.Key == "":
		return errors.New("a model needs an endpoint, in -base-url or OPENAI_BASE_URL, or an OPENAI_API_KEY for " + OpenAI +
			"; Claude needs -model-api messages and an ANTHROPIC_API_KEY")
	case m.BaseURL == "" && m.API == Messages:
		return nil // Anthropic's own
	case m.BaseURL == "":
		m.BaseURL = OpenAI
	}
	err := checkURL(m.BaseURL)
	switch {
	case err == nil || f.given["base-url"]:
		return err
	case m.API == Messages:
		return &SettingError{fmt.Errorf("ANTHROPIC_BASE_URL: %w", err)}
	default:
		return &SettingError{fmt.Errorf("OPENAI_BASE_URL: %w", err)}
	}
}
