package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Implementation names a program that speaks the protocol.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

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

// ListCapability is a server's capability with a list; it may announce changes
// of the list.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
}

// ResourceCapability says what a server's resources can do.
type ResourceCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
	Subscribe   bool `json:"subscribe,omitempty"`
}
