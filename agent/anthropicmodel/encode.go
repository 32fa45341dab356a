package anthropicmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// encode translates a request. The warning says what was left out because the model does not accept it, or has no room.
func (m *Model) encode(r *model.Request) (w *wireRequest, warning string, err error) {
	rule := findRule(m.name)
	effort := cmp.Or(r.Effort, m.options.Effort)
	if !isKnownEffort(effort) {
		return nil, "", fmt.Errorf("effort %q is unknown: use none, minimal, low, medium, high, xhigh or max", effort)
	}
	w = &wireRequest{
		Model:     m.name,
		Stop:      slices.DeleteFunc(slices.Clone(r.Stop), func(s string) bool { return strings.TrimSpace(s) == "" }),
		Stream:    true,
		MaxTokens: rule.maxTokens(r.MaxTokens, m.options.MaxTokens, effort),
	}
	offered := r.Tools
	if len(offered) == 0 {
		offered = calledTools(r.Messages)
	}
	deferred := map[string]bool{}
	if !rule.toolsFirst && len(r.Tools) > 0 {
		deferred = deferredTools(r)
	}
	if w.Tools, err = tools(offered, deferred); err != nil {
		return nil, "", err
	}
	w.ToolChoice = choice(r, len(offered) > 0)
	var warnings []string
	warn := func(text string) {
		if text != "" {
			warnings = append(warnings, text)
		}
	}
	if len(w.Stop) < len(r.Stop) {
		warn("the API accepts no stop sequences of white space: they are left out")
	}
	warn(w.setThinking(&rule, r, effort))
	if r.Format != nil && rule.enforcesFormat {
		w.output().Format = &wireFormat{"json_schema", r.Format}
	}
	warn(m.setTemperature(w, &rule, r))
	if err := m.writeMessages(w, r, deferred); err != nil {
		return nil, "", err
	}
	m.markForCache(w)
	return w, strings.Join(warnings, "; "), nil
}

// setTemperature sets the temperature, if there is one, or returns a warning that it is left out.
func (m *Model) setTemperature(w *wireRequest, rule *rule, r *model.Request) (warning string) {
	switch t := r.Temperature; {
	case t == nil:
	case !rule.takesTemperature:
		return fmt.Sprintf("the model %s accepts no temperature: it is left out", m.name)
	case w.Thinking == nil || w.Thinking.Type == "disabled":
		w.Temperature = t
	case *t != 1:
		return fmt.Sprintf("the model %s accepts no temperature while it thinks: it is left out", m.name)
	}
	return ""
}

// output returns the configuration of the output, for the caller to set.
func (w *wireRequest) output() *wireOutput {
	if w.Output == nil {
		w.Output = &wireOutput{}
	}
	return w.Output
}

// setThinking sets how much the model thinks, and its effort if it has that. A model that is forced
// to call a tool cannot think before; if it always thinks, it is not forced. The warning says that there is no room
// for thoughts, such as near a limit of the run.
func (w *wireRequest) setThinking(rule *rule, r *model.Request, effort string) (warning string) {
	isAsked := effort != "" && effort != "none"
	if isAsked {
		if e := rule.effort(effort); e != "" {
			w.output().Effort = e
		}
	}
	switch adaptive := (&wireThinking{Type: "adaptive", Display: "summarized"}); rule.thinking {
	case thinksBudget:
		budget := budgets[effort]
		if budget >= w.MaxTokens {
			budget = max(w.MaxTokens/2, w.MaxTokens-4_096) // the rest is for the answer
		}
		switch {
		case !isAsked || isForced(r.ToolChoice) || !startsWithThought(r.Messages):
		case budget < leastBudget:
			return fmt.Sprintf("MaxTokens is %d, and thoughts take at least %d tokens of it: the model does not think", w.MaxTokens, leastBudget)
		default:
			w.Thinking = &wireThinking{Type: "enabled", Budget: budget}
		}
	case thinksIfAsked:
		if isAsked && !isForced(r.ToolChoice) {
			w.Thinking = adaptive
		}
	case thinksUnless:
		w.Thinking = adaptive
		if effort == "none" || isForced(r.ToolChoice) {
			w.Thinking = &wireThinking{Type: "disabled"}
			if effort == "xhigh" || effort == "max" { // it would be refused
				w.output().Effort = "high"
			}
		}
	case thinksBetween, thinksAlways:
		w.Thinking = adaptive
		if effort == "none" && rule.thinking == thinksBetween {
			w.Thinking = &wireThinking{Type: "between_tools"}
		}
		if isForced(r.ToolChoice) {
			w.ToolChoice = nil // it would be refused
		}
	}
	return ""
}

// startsWithThought reports whether the last message of the model begins with a thought. The API
// requires it for models with a budget if the message has calls; without calls startsWithThought
// returns true.
func startsWithThought(messages []run.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		if parts := messages[i].Parts; messages[i].Role == run.RoleAssistant {
			isCall := func(p run.Part) bool { return p.Type == run.PartCall }
			return !slices.ContainsFunc(parts, isCall) || hasThought(&parts[0])
		}
	}
	return true
}

// tools translates the definitions of tools. It is an error if a schema is not a JSON object; without
// one any object is accepted.
func tools(all []model.Tool, deferred map[string]bool) ([]wireTool, error) {
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
			Deferred:    deferred[t.Name],
		})
	}
	return out, nil
}

// deferredTools returns the names of the tools whose definitions the model reads in the results of its
// searches, instead of before all messages. The API refuses a request in which all are: then one is not.
func deferredTools(r *model.Request) map[string]bool {
	offered, deferred := map[string]bool{}, map[string]bool{}
	for i := range r.Tools {
		offered[r.Tools[i].Name] = true
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			for _, name := range r.Messages[i].Parts[j].Tools {
				if offered[name] && len(deferred) < len(offered)-1 {
					deferred[name] = true
				}
			}
		}
	}
	return deferred
}

// calledTools returns the tools that the history has calls of: the API requires their definitions
// even if no tool is offered.
func calledTools(history []run.Message) (out []model.Tool) {
	seen := map[string]bool{}
	for i := range history {
		for j := range history[i].Parts {
			p := &history[i].Parts[j]
			if name := callName(p.Name); p.Type == run.PartCall && !seen[name] {
				seen[name] = true
				out = append(out, model.Tool{Name: name, Description: "It is not available."})
			}
		}
	}
	return out
}

// choice returns whether the model must call tools, nil for the API's default: the model decides.
// hasTools reports whether any are defined.
func choice(r *model.Request, hasTools bool) json.RawMessage {
	switch {
	case !hasTools:
		return nil
	case len(r.Tools) == 0:
		return json.RawMessage(`{"type":"none"}`)
	}
	switch r.ToolChoice {
	case model.ChoiceNone:
		return json.RawMessage(`{"type":"none"}`)
	case model.ChoiceRequired:
		return json.RawMessage(`{"type":"any"}`)
	case model.ChoiceTool:
		name, _ := json.Marshal(r.ToolName) // a string always marshals
		return json.RawMessage(`{"type":"tool","name":` + string(name) + `}`)
	}
	return nil
}

// maxMarks is the number of cache marks that the API accepts in a request.
const maxMarks = 4

// markForCache marks for the provider's cache the tools, the instructions, and the ends of the last
// messages of the user: the previous request has written the cache up to the last but one.
func (m *Model) markForCache(w *wireRequest) {
	if m.options.Cache == "none" {
		return
	}
	mark := &cacheMark{Type: "ephemeral"}
	if m.options.Cache == "1h" {
		mark.TTL = "1h"
	}
	remaining := maxMarks
	for n := len(w.Tools) - 1; n >= 0; n-- {
		if !w.Tools[n].Deferred { // deferred tools do not stand before the messages
			w.Tools[n].Cache = mark
			remaining--
			break
		}
	}
	if n := len(w.System); n > 0 {
		w.System[n-1].Cache = mark
		remaining--
	}
	for i := len(w.Messages) - 1; i >= 0 && remaining > 0; i-- {
		if n := len(w.Messages[i].Content); w.Messages[i].Role == "user" && n > 0 {
			w.Messages[i].Content[n-1].Cache = mark
			remaining--
		}
	}
}
