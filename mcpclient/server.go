package mcpclient

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Server is what is known of the server after connecting. Info is the server's
// own claim: show it, but decide nothing by it.
type Server struct {
	Revision     string   // the protocol revision in use
	Revisions    []string // that a modern server says it speaks; nil for a legacy one
	Info         Implementation
	Capabilities ServerCapabilities
	Instructions string          // a hint for the model on how to use the server
	Meta         json.RawMessage // the _meta of its answer to initialize or server/discover
}

// ServerCapabilities is what a server declared. Nil means not offered.
type ServerCapabilities struct {
	Tools        *ListCapability            `json:"tools,omitempty"`
	Prompts      *ListCapability            `json:"prompts,omitempty"`
	Resources    *ResourceCapability        `json:"resources,omitempty"`
	Completions  *struct{}                  `json:"completions,omitempty"` // since revision 2025-03-26
	Logging      *struct{}                  `json:"logging,omitempty"`
	Tasks        *TaskCapability            `json:"tasks,omitempty"` // revision 2025-11-25; since then an extension
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"`
	Experimental map[string]json.RawMessage `json:"experimental,omitempty"`

	// Others are the capabilities that the protocol does not name, at most 100 in
	// 64 KiB.
	Others map[string]json.RawMessage `json:"-"`
}

// String lists what is offered, for logs: "tools (list changes), logging", or
// "nothing". It is cut to 1 KiB.
func (s ServerCapabilities) String() string {
	var all []string
	if c := s.Tools; c != nil {
		all = append(all, detailed("tools", detail{"list changes", c.ListChanged}))
	}
	if c := s.Prompts; c != nil {
		all = append(all, detailed("prompts", detail{"list changes", c.ListChanged}))
	}
	if c := s.Resources; c != nil {
		all = append(all, detailed("resources", detail{"list changes", c.ListChanged}, detail{"subscribe", c.Subscribe}))
	}
	if s.Completions != nil {
		all = append(all, "completions")
	}
	if s.Logging != nil {
		all = append(all, "logging")
	}
	if c := s.Tasks; c != nil {
		all = append(all, detailed("tasks", detail{"tool calls", c.Requests.Tools.Call != nil}, detail{"list", c.List != nil}, detail{"cancel", c.Cancel != nil}))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Extensions)) {
		all = append(all, "extension "+strconv.Quote(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Experimental)) {
		all = append(all, "experimental "+strconv.Quote(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Others)) {
		all = append(all, "unknown "+strconv.Quote(name))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return excerpt.Cut(strings.Join(all, ", "))
}

// detail is what something may have, and whether it does.
type detail struct {
	name string
	has  bool
}

// detailed is a name, and after it the details that it has.
func detailed(name string, details ...detail) string {
	var has []string
	for _, d := range details {
		if d.has {
			has = append(has, d.name)
		}
	}
	if len(has) == 0 {
		return name
	}
	return name + " (" + strings.Join(has, ", ") + ")"
}

// TaskCapability says what a server of revision 2025-11-25 can do with tasks.
type TaskCapability struct {
	List     *struct{} `json:"list,omitempty"`
	Cancel   *struct{} `json:"cancel,omitempty"`
	Requests struct {
		Tools struct {
			Call *struct{} `json:"call,omitempty"`
		} `json:"tools,omitzero"`
	} `json:"requests,omitzero"`
}

// ListCapability says whether changes of a list are notified.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

// ResourceCapability says what a server's resources can do.
type ResourceCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
	Subscribe   bool `json:"subscribe,omitempty"`
}

// SessionID is the id of the session, "" where there is none: it exists over
// Streamable HTTP in the legacy era, when the server gave one, and changes when
// a new session begins. Treat it as a secret.
func (c *Client) SessionID() string {
	if l := c.link.Load(); l != nil && l.exchange != nil { // nil for a hook of the first connection
		return l.exchange.sessionID()
	}
	return ""
}

// requirement names the capability that a method needs, "" for none.
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

// offered reports whether the server declared a capability that [requirement]
// names, or could not have: its revision has no way to declare it. With
// Options.Protocol.AllowUndeclared nobody needs to.
func (c *Client) offered(capability string) bool {
	if c.opts.Protocol.AllowUndeclared {
		return true
	}
	e := c.current()
	if capability == "completions" && !e.has(completionCapability) || capability == "tasks.cancel" && !e.has(coreTasks) {
		return true
	}
	return declares(&c.server.Load().Capabilities, capability)
}

// declares reports whether the server declared a capability that [requirement]
// names.
func declares(s *ServerCapabilities, capability string) bool {
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
