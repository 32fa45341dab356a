package run

import "github.com/go-json-experiment/json/jsontext"

// Kept describes a result that is stored beside the records of its run.
type Kept struct {
	Handle string `json:"handle"` // the name of the blob
	Tool   string `json:"tool,omitzero"`
	Kind   string `json:"kind"`           // "json" or "text"
	Shape  string `json:"shape,omitzero"` // the top level of JSON, in words
	Size   int    `json:"size"`           // bytes
	Digest string `json:"digest"`         // SHA-256 of the bytes, in hexadecimal

	Unknown jsontext.Value `json:",embed"` // members of a later version
}
