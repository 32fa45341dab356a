package sampling

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
)

// Model describes a model of [Options.Models]. It gets only requests with contents
// that it accepts. Its JSON may be part of a configuration file.
type Model struct {
	ID        string   `json:"id"`                  // the provider's name for it
	StandsFor []string `json:"standsFor,omitempty"` // parts of other makers' names that it can replace, such as "haiku"

	Tools  bool `json:"tools,omitempty"`  // it accepts tools
	Images bool `json:"images,omitempty"` // it accepts images
	Audio  bool `json:"audio,omitempty"`  // it accepts audio

	Context int `json:"context,omitempty"` // tokens of a request and its reply together; 0 for unknown

	Speed        float64 `json:"speed,omitempty"`        // tokens per second; 0 for unknown, which counts as the slowest
	Intelligence float64 `json:"intelligence,omitempty"` // higher is better, on any scale; 0 counts as the lowest

	price *price.Price // price in Options.Prices, nil for unknown
}

// checkModels returns an error for invalid Options.Models.
func checkModels(models []Model, initial string) error {
	seen := map[string]bool{}
	for _, m := range models {
		switch {
		case m.ID == "":
			return errors.New("model of Options.Models has no ID")
		case seen[m.ID]:
			return fmt.Errorf("Options.Models has two models %q", m.ID)
		}
		seen[m.ID] = true
	}
	if len(models) > 0 && !seen[initial] {
		return fmt.Errorf("model %q is not in Options.Models: add it there", initial)
	}
	return nil
}

// choose picks a model that can answer the request, as the specification advises: first by the first hint that matches a
// model, then by the priorities, then the default. It returns the reason, too, and fails if no model can answer the request.
func choose(models []Model, initial string, p *mcp.CreateMessageParams) (_ Model, reason string, err error) {
	able, unable := capable(models, p, p.MaxTokens)
	if len(able) == 0 { // maxTokens is only the most that the server wants
		able, unable = capable(models, p, min(p.MaxTokens, leastReply))
	}
	if len(able) == 0 {
		return Model{}, "", fmt.Errorf("no model can answer the request: %s", strings.Join(unable, ", "))
	}
	var why []string
	if prefs := p.ModelPreferences; prefs != nil {
		if hinted, note := byHints(able, prefs.Hints); note != "" {
			able, why = hinted, append(why, note)
		}
		if best, note := byPriorities(able, prefs); note != "" {
			able, why = []Model{best}, append(why, note)
		}
	}
	if i := slices.IndexFunc(able, func(m Model) bool { return m.ID == initial }); i >= 0 && len(able) > 1 {
		able, why = able[i:], append(why, "the default")
	} else if len(able) > 1 {
		why = append(why, "the first of Options.Models")
	}
	if len(why) == 0 {
		why = append(why, "the only one")
	}
	if len(unable) > 0 {
		why = append(why, "left out "+strings.Join(unable, ", "))
	}
	return able[0], strings.Join(why, "; "), nil
}

// leastReply is the room for a reply, in tokens, with which a model is still asked if no model has room for maxTokens.
const leastReply = 256

// capable returns the models that can answer a request with a reply of so many tokens, and for each other model the reason
// why not.
func capable(models []Model, p *mcp.CreateMessageParams, reply int64) (able []Model, unable []string) {
	needs := newNeeds(p)
	tokens := needs.tokens() + reply
	for _, m := range models {
		lacks := ""
		switch {
		case len(p.Tools) > 0 && !m.Tools:
			lacks = "no tools"
		case needs.images > 0 && !m.Images:
			lacks = "no images"
		case needs.audio > 0 && !m.Audio:
			lacks = "no audio"
		case m.Context > 0 && tokens > int64(m.Context):
			lacks = fmt.Sprintf("%d tokens of context for about %d", m.Context, tokens)
		default:
			able = append(able, m)
			continue
		}
		unable = append(unable, fmt.Sprintf("%s (%s)", m.ID, lacks))
	}
	return able, unable
}

// shorten lowers maxTokens to the room that the model has beside the request.
func (m *Model) shorten(p *mcp.CreateMessageParams) {
	if m.Context > 0 {
		p.MaxTokens = min(p.MaxTokens, int64(m.Context)-newNeeds(p).tokens())
	}
}

// byHints returns the models that match the first matching hint. "If multiple hints are specified,
// the client MUST evaluate them in order (such that the first match is taken)."
func byHints(models []Model, hints []mcp.ModelHint) ([]Model, string) {
	for _, h := range hints {
		hint := strings.ToLower(h.Name)
		if hint == "" {
			continue
		}
		for _, fits := range []func(*Model, string) bool{isNamed, isNamedLike, standsFor} {
			var hit []Model
			for _, m := range models {
				if fits(&m, hint) {
					hit = append(hit, m)
				}
			}
			if len(hit) > 0 {
				return hit, fmt.Sprintf("the hint %.80q", h.Name)
			}
		}
	}
	return models, ""
}

func isNamed(m *Model, hint string) bool { return strings.ToLower(m.ID) == hint }

func isNamedLike(m *Model, hint string) bool { return strings.Contains(strings.ToLower(m.ID), hint) }

func standsFor(m *Model, hint string) bool {
	return slices.ContainsFunc(m.StandsFor, func(s string) bool { return s != "" && strings.Contains(hint, strings.ToLower(s)) })
}

// byPriorities returns the best model by the server's priorities. Prices and speeds differ by orders of magnitude, so their
// logarithms are compared. The note is empty if the server has no priorities.
func byPriorities(models []Model, p *mcp.ModelPreferences) (Model, string) {
	cost, speed, intelligence := weight(p.CostPriority), weight(p.SpeedPriority), weight(p.IntelligencePriority)
	if cost+speed+intelligence == 0 || len(models) < 2 {
		return Model{}, ""
	}
	cheap := scale(models, func(m *Model) float64 {
		if m.price == nil {
			return math.NaN()
		}
		return -math.Log(3*float64(m.price.Input) + float64(m.price.Output) + 1)
	})
	fast := scale(models, func(m *Model) float64 { return math.Log(m.Speed) })
	smart := scale(models, func(m *Model) float64 { return m.Intelligence })
	best, top := 0, -1.0
	for i := range models {
		if score := (cost*cheap[i] + speed*fast[i] + intelligence*smart[i]) / (cost + speed + intelligence); score > top {
			best, top = i, score
		}
	}
	return models[best], fmt.Sprintf("the priorities cost %.2g, speed %.2g, intelligence %.2g", cost, speed, intelligence)
}

func weight(p *float64) float64 {
	if p == nil || !(*p > 0) { // NaN too
		return 0
	}
	return min(*p, 1)
}

// scale maps a measure of the models to the range from 0 to 1. An unknown value becomes 0.
func scale(models []Model, measure func(*Model) float64) []float64 {
	out := make([]float64, len(models))
	low, high := math.Inf(1), math.Inf(-1)
	for i := range models {
		out[i] = measure(&models[i])
		if !math.IsNaN(out[i]) && !math.IsInf(out[i], 0) {
			low, high = min(low, out[i]), max(high, out[i])
		}
	}
	for i, v := range out {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			out[i] = 0
		case high > low:
			out[i] = (v - low) / (high - low)
		default:
			out[i] = 1
		}
	}
	return out
}
