package mcpclient

import (
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// skillsExtension is the extension of servers with skills.
const skillsExtension = "io.modelcontextprotocol/skills"

// requirement returns the capability that a method needs, or "".
func requirement(method string) string {
	switch method {
	case "tools/list", "tools/call":
		return "tools"
	case "resources/list", "resources/templates/list", "resources/read":
		return "resources"
	case "resources/subscribe", "resources/unsubscribe":
		return "resources.subscribe"
	case "prompts/list", "prompts/get":
		return "prompts"
	case "logging/setLevel":
		return "logging"
	case "completion/complete":
		return "completions"
	case "tasks/cancel":
		return "tasks.cancel"
	case "tasks/list":
		return "tasks.list"
	case "skills/list", "skills/get":
		return "the extension " + skillsExtension
	}
	return ""
}

// declares reports whether the server declared a capability of [requirement].
func declares(s *mcp.ServerCapabilities, capability string) bool {
	switch capability {
	case "tools":
		return s.Tools != nil
	case "resources":
		return s.Resources != nil
	case "resources.subscribe":
		return s.Resources != nil && s.Resources.Subscribe
	case "prompts":
		return s.Prompts != nil
	case "logging":
		return s.Logging != nil
	case "completions":
		return s.Completions != nil
	case "tasks.cancel":
		return s.Tasks != nil && s.Tasks.Cancel != nil
	case "tasks.list":
		return s.Tasks != nil && s.Tasks.List != nil
	case "the extension " + skillsExtension:
		_, ok := s.Extensions[skillsExtension]
		return ok
	}
	return true
}
