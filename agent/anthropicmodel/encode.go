package anthropicmodel

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// encode translates a request. The warning says what was left out because the model does not accept it.
func (m *Model) encode(r *model.Request) (w *wireRequest, warning string, err error) {
	rule := findRule(m.name)
	effort := cmp.Or(r.Effort, m.options.Effort)
	if !isKnownEffort(effort) {
		return nil, "", fmt.Errorf("effort %q is unknown: use none, minimal, low, medium, high, xhigh or max", effort)
	}
	w = &wireRequest{
		Model:     m.name,
		Stop:      nonBlank(r.Stop),
		Stream:    true,
		MaxTokens: rule.maxTokens(r.MaxTokens, m.options.MaxTokens, effort),
	}
	offered := r.Tools
	if len(offered) == 0 {
		offered = calledTools(r.Messages)
	}
	found := map[string]bool{}
	if !rule.toolsFirst && len(r.Tools) > 0 {
		found = deferredTools(r)
	}
	if w.Tools, err = tools(offered, found); err != nil {
		return nil, "", err
	}
	w.ToolChoice = choice(r, len(offered) > 0)
	if err := m.setThinking(w, &rule, r, effort); err != nil {
		return nil, "", err
	}
	if r.Format != nil && rule.enforcesFormat {
		w.output().Format = &wireFormat{"json_schema", r.Format}
	}
	switch t := cmp.Or(r.Temperature, m.options.Temperature); {
	case t == nil:
	case !rule.takesTemperature:
		warning = fmt.Sprintf("the model %s accepts no temperature: it is left out", m.name)
	case w.Thinking == nil || w.Thinking.Type == "disabled": // while it thinks, a model accepts only 1
		w.Sampling = t
	}
	if err := m.writeMessages(w, r, found); err != nil {
		return nil, "", err
	}
	m.markForCache(w)
	return w, warning, nil
}

// output returns the configuration of the output, for the caller to set.
func (w *wireRequest) output() *wireOutput {
	if w.Output == nil {
		w.Output = &wireOutput{}
	}
	return w.Output
}

// setThinking sets how much the model thinks, and its effort if it has that. A model that is forced to call a
// tool cannot think before; if it always thinks, it is not forced.
func (m *Model) setThinking(w *wireRequest, rule *rule, r *model.Request, effort string) error {
	isAsked := effort != "" && effort != "none"
	if isAsked {
		if e := rule.effort(effort); e != "" {
			w.output().Effort = e
		}
	}
	switch adaptive := (&wireThinking{Type: "adaptive", Display: "summarized"}); rule.thinking {
	case thinksBudget:
		if !isAsked || isForced(r.Choice) || !startsWithThought(r.Messages) {
			return nil
		}
		return w.setBudget(rule, r.MaxTokens == 0 && m.options.MaxTokens == 0, budgets[effort])
	case thinksIfAsked:
		if isAsked && !isForced(r.Choice) {
			w.Thinking = adaptive
		}
	case thinksUnless:
		w.Thinking = adaptive
		if effort == "none" || isForced(r.Choice) {
			w.Thinking = &wireThinking{Type: "disabled"}
		}
	case thinksAlways:
		w.Thinking = adaptive
		if isForced(r.Choice) {
			w.ToolChoice = nil // it would be refused
		}
	}
	return nil
}

// setBudget limits the tokens of thoughts, which must be below the bound of the reply. mayRaise means
// that the caller set no bound, so it may be raised.
func (w *wireRequest) setBudget(rule *rule, mayRaise bool, budget int) error {
	if mayRaise {
		w.MaxTokens = min(max(w.MaxTokens, budget+defaultReply/2), rule.reply)
	}
	if budget >= w.MaxTokens {
		budget = w.MaxTokens / 2
	}
	if budget < leastBudget {
		return fmt.Errorf("MaxTokens is %d, and thoughts take at least %d tokens of it: "+
			"raise MaxTokens, or set the effort to none", w.MaxTokens, leastBudget)
	}
	w.Thinking = &wireThinking{Type: "enabled", Budget: budget}
	return nil
}

// startsWithThought reports whether the last message of the model begins with a thought. The API requires it for models
// with a budget if the message has calls; without calls startsWithThought returns true.
func startsWithThought(messages []run.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		if parts := messages[i].Parts; messages[i].Role == run.RoleAssistant {
			isCall := func(p run.Part) bool { return p.Type == run.PartCall }
			return !slices.ContainsFunc(parts, isCall) || hasThought(&parts[0])
		}
	}
	return true
}

// nonBlank returns the stop sequences without blank ones, which the API refuses.
func nonBlank(stops []string) (out []string) {
	for _, s := range stops {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

// tools translates the definitions of tools. Those in found are deferred. It is an error if a schema is
// not a JSON object; without one any object is accepted.
func tools(all []model.Tool, found map[string]bool) ([]wireTool, error) {
	var out []wireTool
	for _, t := range all {
		schema := t.Schema
		switch {
		case len(schema) == 0:
			schema = json.RawMessage(`{"type":"object"}`)
		case !jsonrpc.IsObject(schema) || !json.Valid(schema):
			return nil, fmt.Errorf("tool %q: the schema is not a JSON object", t.Name)
		}
		out = append(out, wireTool{
			Name:        t.Name,
			Description: t.Description,
			Schema:      schema,
			Strict:      t.Strict,
			Deferred:    found[t.Name],
		})
	}
	return out, nil
}

// deferredTools returns the tools that results in the request name. The model reads their
// definitions there. It leaves out one tool if all were deferred, because the API refuses that.
func deferredTools(r *model.Request) map[string]bool {
	offered, found := map[string]bool{}, map[string]bool{}
	for i := range r.Tools {
		offered[r.Tools[i].Name] = true
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			for _, name := range r.Messages[i].Parts[j].Tools {
				if offered[name] && len(found) < len(offered)-1 {
					found[name] = true
				}
			}
		}
	}
	return found
}

// calledTools returns the tools that the history has calls of: the API requires their definitions even if no tool is
// offered.
func calledTools(history []run.Message) (out []model.Tool) {
	seen := map[string]bool{}
	for i := range history {
		for j := range history[i].Parts {
			if p := &history[i].Parts[j]; p.Type == run.PartCall && !seen[p.Name] {
				seen[p.Name] = true
				out = append(out, model.Tool{Name: p.Name, Description: "It is not available."})
			}
		}
	}
	return out
}

// choice returns which tools the model may call or must call, nil for the API's default: as it likes.
// tools reports whether any are defined.
func choice(r *model.Request, tools bool) json.RawMessage {
	switch {
	case !tools:
		return nil
	case len(r.Tools) == 0:
		return json.RawMessage(`{"type":"none"}`)
	}
	switch r.Choice {
	case model.ChoiceNone:
		return json.RawMessage(`{"type":"none"}`)
	case model.ChoiceRequired:
		return json.RawMessage(`{"type":"any"}`)
	case model.ChoiceTool:
		name, _ := json.Marshal(r.ChosenTool) // a string always marshals
		return json.RawMessage(`{"type":"tool","name":` + string(name) + `}`)
	}
	return nil
}

// maxMarks is the number of cache marks that the API accepts in a request.
const maxMarks = 4

// markForCache marks for the host's cache the tools, the instructions, and the ends of the last
// messages of the user: the previous request has written the cache up to the last but one.
func (m *Model) markForCache(w *wireRequest) {
	if m.options.Cache == "none" {
		return
	}
	mark := &cacheMark{Type: "ephemeral"}
	if m.options.Cache == "1h" {
		mark.TTL = "1h"
	}
	left := maxMarks
	for n := len(w.Tools) - 1; n >= 0; n-- {
		if !w.Tools[n].Deferred { // deferred tools do not stand before the messages
			w.Tools[n].Cache = mark
			left--
			break
		}
	}
	if n := len(w.System); n > 0 {
		w.System[n-1].Cache = mark
		left--
	}
	for i := len(w.Messages) - 1; i >= 0 && left > 0; i-- {
		if n := len(w.Messages[i].Content); w.Messages[i].Role == "user" && n > 0 {
			w.Messages[i].Content[n-1].Cache = mark
			left--
		}
	}
}

// writeMessages writes the messages. Consecutive messages of one role become one, because parallel
// results must be in one message.
func (m *Model) writeMessages(w *wireRequest, r *model.Request, found map[string]bool) error {
	instructions := []string{}
	if r.System != "" {
		instructions = append(instructions, r.System)
	}
	messages := r.Messages
	for len(messages) > 0 && messages[0].Role == run.RoleSystem {
		instructions = append(instructions, messages[0].Text())
		messages = messages[1:]
	}
	if text := strings.Join(instructions, "\n\n"); strings.TrimSpace(text) != "" {
		w.System = []block{{Type: "text", Text: text}}
	}
	for i := range messages {
		blocks, err := blocksOf(&messages[i], found)
		if err != nil {
			return fmt.Errorf("message %d: %w", len(r.Messages)-len(messages)+i, err)
		}
		w.append(roleOf(messages[i].Role), blocks)
	}
	if n := len(w.Messages); n == 0 || w.Messages[n-1].Role == "assistant" {
		w.append("user", []block{{Type: "text", Text: "Continue."}}) // current models do not continue their own message
	}
	return nil
}

// append adds blocks to the last message if it has the role, else as a new message. The first message
// is always of the user.
func (w *wireRequest) append(role string, blocks []block) {
	n := len(w.Messages)
	switch {
	case len(blocks) == 0:
	case n > 0 && w.Messages[n-1].Role == role:
		w.Messages[n-1].Content = append(w.Messages[n-1].Content, blocks...)
	case n == 0 && role == "assistant":
		w.append("user", []block{{Type: "text", Text: "(The beginning of the conversation is left out.)"}})
		w.append(role, blocks)
	default:
		w.Messages = append(w.Messages, wireMessage{role, blocks})
	}
}

// roleOf returns the API's role for a message: results are from the user.
func roleOf(r run.Role) string {
	if r == run.RoleAssistant {
		return "assistant"
	}
	return "user"
}

// blocksOf translates the parts of a message. It leaves out blank texts, thoughts of other hosts, and
// parts of unknown types.
func blocksOf(m *run.Message, found map[string]bool) (out []block, err error) {
	for i := range m.Parts {
		p := &m.Parts[i]
		var b *block
		switch p.Type {
		case run.PartText, run.PartSummary:
			if strings.TrimSpace(p.Text) != "" { // the API refuses blank text
				b = &block{Type: "text", Text: p.Text}
			}
		case run.PartImage, run.PartFile, run.PartAudio:
			b, err = media(p)
		case run.PartReasoning:
			if m.Role == run.RoleAssistant {
				b = thought(p)
			}
		case run.PartCall:
			b = &block{Type: "tool_use", ID: callID(p.ID), Name: p.Name, Input: arguments(p.Arguments)}
		case run.PartResult:
			b = result(p, found)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		if b != nil {
			out = append(out, *b)
		}
	}
	return out, nil
}

// Keys in [run.Part.Provider] of data that the API wants back.
const (
	signatureKey = "signature" // a thought's signature, a string
	redactedKey  = "redacted"  // the data of a thought that the host does not show, a string
	blockKey     = "block"     // a block of another type, as it came
)

// hasThought reports whether a part is a thought that came from this API.
func hasThought(p *run.Part) bool { return p.Type == run.PartReasoning && thought(p) != nil }

// thought returns the block of a thought as it came from the API, nil for a thought of another host.
func thought(p *run.Part) *block {
	if raw := p.Provider[blockKey]; jsonrpc.IsObject(raw) {
		return &block{raw: raw}
	}
	if data, ok := jsonrpc.String(p.Provider[redactedKey]); ok {
		return &block{Type: "redacted_thinking", Data: data}
	}
	if signature, ok := jsonrpc.String(p.Provider[signatureKey]); ok && signature != "" {
		return &block{Type: "thinking", Thinking: &p.Text, Signature: signature}
	}
	return nil
}

// arguments returns the input of a call. The API requires an object, so other text becomes its member "input".
func arguments(text string) json.RawMessage {
	raw := json.RawMessage(strings.TrimSpace(text))
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}")
	case jsonrpc.IsObject(raw) && json.Valid(raw):
		return raw
	}
	out, _ := jsonrpc.Marshal(map[string]string{"input": text}) // a map of strings always marshals
	return out
}

// maxCallID is the longest id of a call that the API accepts, in bytes.
const maxCallID = 64

// badID matches the characters that an id of a call must not have.
var badID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// callID returns the id of a call in characters that the API accepts. Ids of other hosts may have other characters.
func callID(id string) string {
	if id != "" && len(id) <= maxCallID && !badID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// result translates the result of a call with its media, without those that the API does not accept.
// The result of a tool search refers to the found tools instead: the API shows their definitions there.
func result(p *run.Part, found map[string]bool) *block {
	b := &block{Type: "tool_result", CallID: callID(p.ID), IsError: p.IsError}
	for _, name := range p.Tools {
		if found[name] {
			b.Content = append(b.Content, block{Type: "tool_reference", ToolName: name})
		}
	}
	if len(b.Content) > 0 {
		return b
	}
	if strings.TrimSpace(p.Text) != "" {
		b.Content = append(b.Content, block{Type: "text", Text: p.Text})
	}
	for i := range p.Media {
		if isAccepted(p.Media[i].MIMEType) {
			if image, err := media(&p.Media[i]); err == nil {
				b.Content = append(b.Content, *image)
			}
		}
	}
	return b
}

// pdf is the MIME type of the documents that the API accepts beside text.
const pdf = "application/pdf"

// isAccepted reports whether the API accepts media of a MIME type.
func isAccepted(mimeType string) bool {
	_, isImage := chat.ImageType(mimeType)
	return isImage || chat.BareType(mimeType) == pdf
}

// media translates an image or a document. It is an error if the API does not accept its type, or does
// not fetch it from its URL.
func media(p *run.Part) (*block, error) {
	mimeType, image := chat.ImageType(p.MIMEType)
	if !image {
		mimeType = chat.BareType(p.MIMEType)
	}
	kind := "document"
	if image || p.Type == run.PartImage || strings.HasPrefix(mimeType, "image/") {
		kind = "image"
	}
	switch {
	case p.Data == nil && p.URL != "" && kind == "image", p.Data == nil && p.URL != "" && mimeType == pdf:
		return &block{Type: kind, Source: &source{Type: "url", URL: p.URL}}, nil
	case p.Data == nil && p.URL != "":
		return nil, fmt.Errorf("content of type %q has only a URL: the API fetches images and PDFs", p.MIMEType)
	case p.Data == nil:
		return nil, fmt.Errorf("content of type %q has no data", p.MIMEType)
	case strings.HasPrefix(mimeType, "text/"):
		text := string(bytes.ToValidUTF8(p.Data, []byte("\uFFFD")))
		return &block{Type: kind, Source: &source{Type: "text", MediaType: "text/plain", Data: text}}, nil
	case !isAccepted(mimeType):
		return nil, fmt.Errorf("content of type %q: the API accepts png, jpeg, gif, webp, pdf and text", p.MIMEType)
	}
	data := base64.StdEncoding.EncodeToString(p.Data)
	return &block{Type: kind, Source: &source{Type: "base64", MediaType: mimeType, Data: data}}, nil
}
