package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/reach"
)

// detect returns the name of the profile for a configuration.
func detect(cfg *openai.ClientConfig) (string, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil: // the error's text would quote the URL
		return "", errors.New("base URL is malformed: want http://host/path or https://host/path")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return "", fmt.Errorf("base URL %q: want http://host/path or https://host/path", excerpt.Cut(bareURL(base)))
	}
	switch cfg.APIType {
	case openai.APITypeAzure, openai.APITypeAzureAD, openai.APITypeCloudflareAzure:
		return "azure", nil
	case openai.APITypeAnthropic:
		return "", fmt.Errorf("API type %s sends no credentials; use Anthropic's OpenAI-compatible URL with type %s",
			cfg.APIType, openai.APITypeOpenAI)
	}
	host := strings.ToLower(base.Hostname())
	for _, p := range profiles() {
		if slices.ContainsFunc(p.Domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) }) {
			return p.Name, nil
		}
	}
	switch {
	case base.Port() == "11434":
		return "ollama", nil
	case base.Port() == "1234" && reach.ThisMachine(host):
		return "lmstudio", nil
	}
	return "compatible", nil
}

const (
	discoverTime = 5 * time.Second // time for all requests of a discovery
	maxDiscover  = 4 << 20         // bytes of an answer
	maxWindow    = 100_000_000     // tokens; a larger window cannot be true
)

// Discover asks an endpoint for the context window of a model in tokens, 0 if it does not report one within 5 s. host is
// "ollama", "lmstudio", "llamacpp" or "vllm" for an endpoint of these, else "". For Ollama and LM Studio the window is the
// one that the model is loaded with, as they cut off longer prompts.
func Discover(ctx context.Context, cfg openai.ClientConfig, model string) (host string, window int64) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	d := newDiscovery(ctx, cfg)
	switch detected, _ := detect(&cfg); detected {
	case "ollama":
		return detected, d.ollama(model)
	case "lmstudio": // or another program at its port
		if n := d.lmStudio(model); n > 0 {
			return detected, n
		}
	}
	list, header, _ := d.models()
	entry := findModel(list, model)
	switch owner, _ := jsonrpc.String(jsonrpc.Lookup(entry, "owned_by")); {
	case owner == "llamacpp", strings.HasPrefix(header.Get("Server"), "llama.cpp"):
		host = "llamacpp"
	case owner == "vllm":
		host = "vllm"
	}
	return host, contextWindow(entry)
}

// Models returns the ids of an endpoint's models in its order. The error says why it does not list them within 5 s.
func Models(ctx context.Context, cfg openai.ClientConfig) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	list, _, err := newDiscovery(ctx, cfg).models()
	for entry := range modelEntries(list) {
		if id, _ := jsonrpc.String(jsonrpc.Lookup(entry, "id")); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// discovery asks one endpoint.
type discovery struct {
	ctx    context.Context
	http   openai.HTTPDoer
	base   string
	query  string      // query to add to each URL
	header http.Header // header of each request
}

func newDiscovery(ctx context.Context, cfg openai.ClientConfig) *discovery {
	d := &discovery{ctx: ctx, http: withinOrigin(cfg.HTTPClient)}
	cfg.BaseURL, d.query = SplitQuery(cfg.BaseURL)
	d.base = strings.TrimRight(cfg.BaseURL, "/")
	pattern, err := requestOf(cfg, func(client *openai.Client) error {
		_, err := client.ListModels(ctx)
		return err
	})
	if err == nil {
		d.header = pattern.Header
	}
	return d
}

// models returns the list of models, with the header of the answer, which may be set after an error, too.
func (d *discovery) models() (json.RawMessage, http.Header, error) {
	return d.ask(http.MethodGet, d.base+"/models", nil)
}

// ask sends a request and returns the JSON of the answer, with its header as [discovery.models] does.
func (d *discovery) ask(method, url string, body []byte) (json.RawMessage, http.Header, error) {
	request, err := http.NewRequestWithContext(d.ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, withoutURL(err)
	}
	request.URL.RawQuery, request.Header = d.query, d.header.Clone()
	response, err := d.http.Do(request)
	if err != nil {
		return nil, nil, errors.New(newRedactor(request).clean(withoutURL(err).Error()))
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDiscover+1))
	switch {
	case response.StatusCode != http.StatusOK:
		err = fmt.Errorf("HTTP status %d", response.StatusCode)
	case len(data) > maxDiscover:
		err = fmt.Errorf("the answer is over %d bytes", maxDiscover)
	case err == nil && !json.Valid(data):
		err = errors.New("the answer is not JSON")
	}
	if err != nil {
		data = nil
	}
	return data, response.Header, err
}

// elements ranges over the elements of an array. Another value has none.
func elements(raw json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		d := jsonrpc.NewDecoder(raw, maxElements)
		if d.Kind() != '[' {
			return
		}
		for range d.Elements {
			if !yield(d.Raw()) {
				return
			}
		}
	}
}

// findModel returns the entry of a model in a list of models. If no entry has its name and there is only one, that is it.
func findModel(list json.RawMessage, model string) json.RawMessage {
	var all []json.RawMessage
	for entry := range modelEntries(list) {
		if id, _ := jsonrpc.String(jsonrpc.Lookup(entry, "id")); id == model {
			return entry
		}
		all = append(all, entry)
	}
	if len(all) == 1 {
		return all[0]
	}
	return nil
}

// modelEntries ranges over the entries of a list of models.
func modelEntries(list json.RawMessage) iter.Seq[json.RawMessage] {
	if jsonrpc.IsObject(list) { // Together sends the bare array
		list = jsonrpc.Lookup(list, "data")
	}
	return elements(list)
}

// contextWindow returns the context window in an entry, 0 if it has none. Hosts name it differently.
func contextWindow(entry json.RawMessage) int64 {
	for _, path := range [][]string{
		{"meta", "n_ctx"},                  // llama.cpp
		{"max_model_len"},                  // vLLM
		{"context_window"},                 // Groq
		{"max_context_length"},             // Mistral
		{"context_length"},                 // OpenRouter, Together, Moonshot
		{"top_provider", "context_length"}, // OpenRouter
	} {
		if n := window(jsonrpc.Lookup(entry, path...)); n > 0 {
			return n
		}
	}
	return 0
}

// window returns a context window in tokens, 0 for a number that cannot be true.
func window(raw json.RawMessage) int64 {
	if n := decodeCount(raw); n <= maxWindow {
		return n
	}
	return 0
}

// lmStudio returns the context window that LM Studio has loaded a model with, 0 if it is not loaded. The compatible API
// has no field for it.
func (d *discovery) lmStudio(model string) int64 {
	list, _, _ := d.ask(http.MethodGet, strings.TrimSuffix(d.base, "/v1")+"/api/v0/models", nil)
	return window(jsonrpc.Lookup(findModel(list, model), "loaded_context_length"))
}

var numCtx = regexp.MustCompile(`(?m)^num_ctx\s+(\d+)`)

// ollama returns the context window that Ollama has loaded a model with, or will load it with by its parameters.
func (d *discovery) ollama(model string) int64 {
	root := strings.TrimSuffix(d.base, "/v1")
	loaded, _, _ := d.ask(http.MethodGet, root+"/api/ps", nil)
	for entry := range elements(jsonrpc.Lookup(loaded, "models")) {
		name, _ := jsonrpc.String(jsonrpc.Lookup(entry, "name"))
		n := window(jsonrpc.Lookup(entry, "context_length"))
		if (name == model || name == model+":latest") && n > 0 {
			return n
		}
	}
	body, _ := jsonrpc.Marshal(map[string]string{"model": model}) // a map of strings always marshals
	shown, _, _ := d.ask(http.MethodPost, root+"/api/show", body)
	parameters, _ := jsonrpc.String(jsonrpc.Lookup(shown, "parameters"))
	if m := numCtx.FindStringSubmatch(parameters); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && n <= maxWindow {
			return n
		}
	}
	return 0
}
