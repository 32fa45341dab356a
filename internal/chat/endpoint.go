package chat

import (
	"regexp"
	"strconv"
	"strings"
)

// The endpoints of OpenAI's API.
const (
	Chat      = "chat"      // Chat Completions
	Responses = "responses" // Responses, used without a store at the host
)

// Endpoint returns the endpoint for new conversations with a model.
func (c *Client) Endpoint(model string) string {
	switch {
	case c.api != "":
		return c.api
	case c.profile.Responses && wantsResponses(model):
		return Responses
	}
	return Chat
}

// EndpointOf returns the endpoint for a request: the endpoint of its conversation, if this host has
// it for the model, else the endpoint for new conversations.
func (c *Client) EndpointOf(r *Request) string {
	switch {
	case c.api != "":
	case r.Endpoint == Responses && c.profile.Responses:
		return Responses
	case r.Endpoint == Chat && !(len(r.Tools) > 0 && c.profile.Responses && needsResponses(r.Model)):
		return Chat
	}
	return c.Endpoint(r.Model)
}

var gptVersion = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)

// wantsResponses reports whether a model of OpenAI works better, or only, at Responses: models since gpt-5.4 reason
// there with tools and keep their reasoning between calls.
func wantsResponses(model string) bool {
	model = bareModel(model)
	if m := gptVersion.FindStringSubmatch(model); m != nil && !strings.Contains(model, "-chat") {
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if major > 5 || major == 5 && minor >= 4 {
			return true
		}
	}
	return strings.Contains(model, "-codex") || strings.Contains(model, "-pro") || strings.Contains(model, "deep-research")
}
