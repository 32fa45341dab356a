package claudetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/published"
)

// Request is a valid request.
type Request struct {
	Model     string                     `json:"model"`
	MaxTokens int                        `json:"max_tokens"`
	System    []Content                  `json:"system"`
	Messages  []Message                  `json:"messages"`
	Tools     []Tool                     `json:"tools"`
	Choice    map[string]string          `json:"tool_choice"`
	Thinking  map[string]any             `json:"thinking"`
	Output    map[string]json.RawMessage `json:"output_config"`
	Usage     Usage                      `json:"-"`

	blocks []cacheBlock // in the order of the cache
	models rule
}

// Message is a message of a request.
type Message struct {
	Role    string    `json:"role"`
	Content []Content `json:"content"`
}

// Content is a block of a request; Raw has all of its members.
type Content struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Thinking  string    `json:"thinking"`
	Signature string    `json:"signature"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CallID    string    `json:"tool_use_id"`
	Content   []Content `json:"content"`
	IsError   bool      `json:"is_error"`

	Raw map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the members.
func (c *Content) UnmarshalJSON(data []byte) error {
	type plain Content
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	return json.Unmarshal(data, &c.Raw)
}

// Tool is a definition of a tool.
type Tool struct {
	Name string                     `json:"name"`
	Raw  map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the members.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type plain Tool
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	return json.Unmarshal(data, &t.Raw)
}

type cacheBlock struct {
	text   []byte
	marked bool
}

// rule is what a model takes, as Anthropic's reference says.
type rule struct {
	reply    int
	thinking string // the types that the model takes
	sampling bool
	efforts  string
	format   bool
}

var rules = map[string]rule{
	"claude-fable-5":    {128_000, "adaptive", false, "low medium high xhigh max", true},
	"claude-opus-5":     {128_000, "adaptive disabled", false, "low medium high xhigh max", true},
	"claude-sonnet-5":   {128_000, "adaptive disabled", false, "low medium high xhigh max", true},
	"claude-opus-4-8":   {128_000, "adaptive disabled", false, "low medium high xhigh max", true},
	"claude-opus-4-7":   {128_000, "adaptive disabled", false, "low medium high xhigh max", true},
	"claude-opus-4-6":   {128_000, "adaptive disabled enabled", true, "low medium high max", true},
	"claude-sonnet-4-6": {64_000, "adaptive disabled enabled", true, "low medium high max", true},
	"claude-opus-4-5":   {64_000, "disabled enabled", true, "low medium high", true},
	"claude-sonnet-4-5": {64_000, "disabled enabled", true, "", true},
	"claude-haiku-4-5":  {64_000, "disabled enabled", true, "", true},
	"claude-opus-4-0":   {32_000, "disabled enabled", true, "", false},
}

// Models are those that the host knows.
func Models() (names []string) {
	for name := range rules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// members of the objects of a request, by their types.
var members = map[string]string{
	"request":           "model max_tokens system messages tools tool_choice thinking output_config stop_sequences temperature stream metadata",
	"message":           "role content",
	"text":              "type text cache_control",
	"image":             "type source cache_control",
	"document":          "type source cache_control title",
	"thinking":          "type thinking signature",
	"redacted_thinking": "type data",
	"tool_use":          "type id name input cache_control",
	"tool_result":       "type tool_use_id content is_error cache_control",
	"tool":              "name description input_schema strict cache_control type",
	"output_config":     "effort format",
}

func known(kind string, object map[string]json.RawMessage) error {
	want, ok := members[kind]
	if !ok {
		return refuse("%s: unknown type", kind)
	}
	for key := range object {
		if !slices.Contains(strings.Fields(want), key) {
			return refuse("%s.%s: Extra inputs are not permitted", kind, key)
		}
	}
	return nil
}

var (
	callIDs   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	toolNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

func check(body []byte, sign func(string) string) (*Request, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	r := &Request{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	if err := published.Messages(body); err != nil {
		return nil, refuse("by the published schema: %v", err)
	}
	if err := known("request", all); err != nil {
		return nil, err
	}
	model, ok := rules[r.Model]
	r.models = model
	switch {
	case !ok:
		return nil, refuse("model: %s", r.Model)
	case r.MaxTokens < 1 || r.MaxTokens > model.reply:
		return nil, refuse("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.MaxTokens, model.reply, r.Model)
	case all["temperature"] != nil && !model.sampling:
		return nil, refuse("`temperature` is deprecated for this model.")
	case len(r.Messages) == 0:
		return nil, refuse("messages: at least one message is required")
	}
	for _, step := range []func() error{r.checkThinking, r.checkOutput, r.checkTools, func() error { return r.checkMessages(sign) }, r.checkMarks} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if kind, _ := r.Thinking["type"].(string); all["temperature"] != nil && kind != "" && kind != "disabled" {
		return nil, refuse("`temperature` may only be set to 1 when thinking is enabled")
	}
	return r, nil
}

func (r *Request) checkThinking() error {
	if r.Thinking == nil {
		return nil
	}
	kind, _ := r.Thinking["type"].(string)
	budget, _ := r.Thinking["budget_tokens"].(float64)
	switch {
	case !slices.Contains(strings.Fields(r.models.thinking), kind):
		return refuse("%q is not supported for this model", "thinking.type."+kind)
	case kind == "enabled" && budget < 1024:
		return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case kind == "enabled" && int(budget) >= r.MaxTokens:
		return refuse("`max_tokens` must be greater than `thinking.budget_tokens`")
	case kind != "enabled" && budget != 0:
		return refuse("thinking.%s.budget_tokens: Extra inputs are not permitted", kind)
	case kind != "disabled" && (r.Choice["type"] == "any" || r.Choice["type"] == "tool"):
		return refuse("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (r *Request) checkOutput() error {
	if err := known("output_config", r.Output); err != nil {
		return err
	}
	if raw := r.Output["effort"]; raw != nil {
		var effort string
		if json.Unmarshal(raw, &effort) != nil || !slices.Contains(strings.Fields(r.models.efforts), effort) {
			return refuse("output_config.effort: %s is not supported for this model", raw)
		}
	}
	if raw := r.Output["format"]; raw != nil {
		var format struct {
			Type   string
			Schema map[string]any
		}
		if json.Unmarshal(raw, &format) != nil || format.Type != "json_schema" || format.Schema == nil || !r.models.format {
			return refuse("output_config.format: not supported: %s", raw)
		}
	}
	return nil
}

func (r *Request) checkTools() error {
	names := map[string]bool{}
	for _, t := range r.Tools {
		if err := known("tool", t.Raw); err != nil {
			return err
		}
		var schema map[string]any
		switch {
		case !toolNames.MatchString(t.Name):
			return refuse("tools.%s.name: String should match pattern", t.Name)
		case names[t.Name]:
			return refuse("tools: Tool names must be unique.")
		case json.Unmarshal(t.Raw["input_schema"], &schema) != nil || schema["type"] != "object":
			return refuse("tools.%s.input_schema.type: Field required", t.Name)
		case schema["oneOf"] != nil || schema["anyOf"] != nil || schema["allOf"] != nil:
			return refuse("tools.%s: input_schema does not support oneOf, allOf, or anyOf at the top level", t.Name)
		}
		names[t.Name] = true
	}
	switch kind := r.Choice["type"]; {
	case r.Choice == nil:
	case len(r.Tools) == 0:
		return refuse("tool_choice may only be specified while providing tools.")
	case kind == "tool" && !names[r.Choice["name"]]:
		return refuse("Tool %q not found in provided tools", r.Choice["name"])
	case !slices.Contains([]string{"auto", "any", "none", "tool"}, kind):
		return refuse("tool_choice.type: %q", kind)
	}
	return nil
}

func (r *Request) checkMessages(sign func(string) string) error {
	var waiting []string // ids of calls without results
	seen := map[string]bool{}
	for i, m := range r.Messages {
		if len(m.Content) == 0 || m.Role != "user" && m.Role != "assistant" || i == 0 && m.Role != "user" || i > 0 && r.Messages[i-1].Role == m.Role {
			return refuse("messages.%d: role %q with %d blocks", i, m.Role, len(m.Content))
		}
		if m.Role == "user" {
			results := 0
			for j, c := range m.Content {
				if c.Type != "tool_result" {
					continue
				}
				if at := slices.Index(waiting, c.CallID); at < 0 || j != results {
					return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, j, c.CallID)
				} else {
					waiting = slices.Delete(waiting, at, at+1)
				}
				results++
			}
			if len(waiting) > 0 {
				return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %v", i, waiting)
			}
		}
		for j, c := range m.Content {
			if err := r.checkBlock(m.Role, c, sign); err != nil {
				return refuse("messages.%d.content.%d: %v", i, j, err)
			}
			if c.Type == "tool_use" {
				if seen[c.ID] {
					return refuse("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				}
				seen[c.ID] = true
				waiting = append(waiting, c.ID)
			}
		}
	}
	return r.checkEnd()
}

// checkEnd checks the last messages: results for thoughts, and no beginning of a reply.
func (r *Request) checkEnd() error {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "assistant" {
		return refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if r.Thinking["type"] == "enabled" && last.Content[0].Type == "tool_result" {
		if first := r.Messages[len(r.Messages)-2].Content[0].Type; first != "thinking" && first != "redacted_thinking" {
			return refuse("Expected `thinking` or `redacted_thinking`, but found `%s`", first)
		}
	}
	return nil
}

func (r *Request) checkBlock(role string, c Content, sign func(string) string) error {
	if err := known(c.Type, c.Raw); err != nil {
		return err
	}
	fromModel := c.Type == "thinking" || c.Type == "redacted_thinking" || c.Type == "tool_use"
	switch {
	case fromModel && role != "assistant", c.Type == "tool_result" && role != "user", (c.Type == "image" || c.Type == "document") && role != "user":
		return refuse("%s blocks are not allowed in %s messages", c.Type, role)
	case c.Type == "text" && strings.TrimSpace(c.Text) == "":
		return refuse("text content blocks must contain non-whitespace text")
	case c.Type == "thinking" && c.Signature != sign(c.Thinking):
		return refuse("Invalid `signature` in `thinking` block")
	case c.Type == "redacted_thinking" && !strings.Contains(string(c.Raw["data"]), sign("redacted")):
		return refuse("Invalid `data` in `redacted_thinking` block, no signature of ours")
	case c.Type == "tool_use" && (!callIDs.MatchString(c.ID) || !strings.HasPrefix(string(c.Raw["input"]), "{")):
		return refuse("tool_use %q: id or input are not valid", c.ID)
	case (c.Type == "tool_use" || c.Type == "tool_result") && len(r.Tools) == 0:
		return refuse("Requests which include `tool_use` or `tool_result` blocks must define tools")
	case c.Type == "image" || c.Type == "document":
		return checkSource(c)
	}
	for _, inner := range c.Content {
		if inner.Type != "text" && inner.Type != "image" && inner.Type != "document" {
			return refuse("%s in a tool_result", inner.Type)
		}
		if err := r.checkBlock("user", inner, sign); err != nil {
			return err
		}
	}
	return nil
}

func checkSource(c Content) error {
	var source struct {
		Type      string
		MediaType string `json:"media_type"`
		Data, URL string
	}
	if err := json.Unmarshal(c.Raw["source"], &source); err != nil {
		return err
	}
	types := "image/png image/jpeg image/gif image/webp"
	if c.Type == "document" {
		types = "application/pdf text/plain"
	}
	if source.Type != "url" && (source.Data == "" || !slices.Contains(strings.Fields(types), source.MediaType)) {
		return refuse("source: %s of type %q", source.Type, source.MediaType)
	}
	return nil
}

// checkMarks lists the blocks in the order of the cache.
func (r *Request) checkMarks() error {
	add := func(object any, raw map[string]json.RawMessage) {
		mark := raw["cache_control"]
		delete(raw, "cache_control")
		text, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		r.blocks = append(r.blocks, cacheBlock{text, mark != nil})
	}
	for _, t := range r.Tools {
		add(t.Raw, t.Raw)
	}
	for _, c := range r.System {
		add(c.Raw, c.Raw)
	}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			add([]any{m.Role, c.Raw}, c.Raw)
		}
	}
	marks := 0
	for _, b := range r.blocks {
		if b.marked {
			marks++
		}
	}
	if marks > 4 {
		return refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return nil
}

// refusal is an error in the words of the host, which are not Go's.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
