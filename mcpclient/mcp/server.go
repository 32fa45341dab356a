package mcp

import (
	"encoding/json"
	"time"
)

// The revisions of the protocol, the newest first.
const (
	Revision20260728 = "2026-07-28"
	Revision20251125 = "2025-11-25"
	Revision20250618 = "2025-06-18"
	Revision20250326 = "2025-03-26"
	Revision20241105 = "2024-11-05"
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

// Server describes the server of a connection. Info is the server's own claim: show it, but base no decision on it.
type Server struct {
	Revision     string // the protocol revision in use
	Info         Implementation
	Capabilities ServerCapabilities
	Instructions string          // a hint for the model on how to use the server
	Meta         json.RawMessage // the _meta of its answer to initialize or server/discover
}

// ServerCapabilities is what a server declared. Nil means not offered.
type ServerCapabilities struct {
	Tools        *ListCapability            `json:"tools,omitempty"`
	Prompts      *ListCapability            `json:"prompts,omitempty"`
	Resources    *ListCapability            `json:"resources,omitempty"`
	Completions  *struct{}                  `json:"completions,omitempty"` // since revision 2025-03-26
	Logging      *struct{}                  `json:"logging,omitempty"`
	Tasks        *TaskCapability            `json:"tasks,omitempty"` // revision 2025-11-25; since then an extension
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"`
	Experimental map[string]json.RawMessage `json:"experimental,omitempty"`
}

// TaskCapability describes what a server of revision 2025-11-25 can do with tasks.
type TaskCapability struct {
	List     *struct{} `json:"list,omitempty"`
	Cancel   *struct{} `json:"cancel,omitempty"`
	Requests struct {
		Tools struct {
			Call *struct{} `json:"call,omitempty"`
		} `json:"tools,omitzero"`
	} `json:"requests,omitzero"`
}

// ListCapability is a server's capability with a list.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitempty"` // it announces changes of the list
	Subscribe   bool `json:"subscribe,omitempty"`   // to the changes of one resource; of resources only
}

// Page is one page of a list.
type Page[T any] struct {
	Items []*T

	// NextCursor asks for the page after this one; nil on the last page. It is valid on this
	// connection only, and "" is a cursor like any other. One longer than 64 KiB is an error.
	NextCursor *string

	// TTL is how long the page is valid after it was received, as a modern server says; at most
	// 24 h. With 0 it may be stale at once.
	TTL time.Duration

	Meta json.RawMessage
}
