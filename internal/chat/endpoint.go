package chat

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The endpoints of OpenAI's API.
const (
	Chat      = "chat"      // Chat Completions
	Responses = "responses" // Responses, used without a store at the host
)

// Endpoint is where a model's conversations begin at this host.
func (c *Client) Endpoint(model string) string {
	switch {
	case c.api != "":
		return c.api
	case c.profile.Responses && wantsResponses(model):
		return Responses
	}
	return Chat
}

// endpoint is where a request goes.
func (c *Client) endpoint(r *Request) (string, error) {
	want := c.Endpoint(r.Model)
	if r.Endpoint == "" || r.Endpoint == want {
		return want, nil
	}
	if r.Endpoint != Chat && r.Endpoint != Responses {
		return "", fmt.Errorf("the conversation began at another API (%s)", r.Endpoint)
	}
	if r.Endpoint == Chat && c.api == "" && responsesAlone(r.Model) && len(r.Tools) > 0 {
		return Responses, nil // the model changed
	}
	if r.Endpoint == Responses && !c.profile.Responses && c.api != Responses {
		return "", errors.New("the conversation began at the Responses API, which this host may not have: set API to responses if it does")
	}
	return r.Endpoint, nil
}

var gptVersion = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)

// wantsResponses reports whether a model of OpenAI works better, or only, at Responses: models since gpt-5.4
// reason there with tools, and keep their thoughts between calls.
func wantsResponses(model string) bool {
	model = strings.TrimPrefix(strings.ToLower(model), "openai/")
	if m := gptVersion.FindStringSubmatch(model); m != nil && !strings.Contains(model, "-chat") {
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if major > 5 || major == 5 && minor >= 4 {
			return true
		}
	}
	return strings.Contains(model, "-codex") || strings.Contains(model, "-pro") || strings.Contains(model, "deep-research")
}
