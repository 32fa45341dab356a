package mcp

import "encoding/json"

// Implementation names a program that speaks the protocol.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// Server describes the server of a connection. Info is the server's own claim: show it, but base no
// decision on it.
type Server struct {
	Revision     string   // the protocol revision in use
	Revisions    []string // the revisions that a modern server lists; nil for a legacy one
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

	// Others are the capabilities that the protocol does not name, at most 100 in 64 KiB.
	Others map[string]json.RawMessage `json:"-"`
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
